//! One client: a connection, a request, a response.

use crate::Result;
use crate::http_server::BODY;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Far beyond what the slowest store needs; a connection that takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connects to `address`, gets `/`, and returns how long that took if the response was the right one.
pub async fn fetch(address: SocketAddr) -> Result<Duration> {
    let start = Instant::now();
    let response =
        timeout(PATIENCE, exchange(address)).await.map_err(|_| "no response within a minute")??;
    let took = start.elapsed();
    check(&response)?;
    Ok(took)
}

async fn exchange(address: SocketAddr) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::with_capacity(256);
    stream.read_to_end(&mut response).await?;
    Ok(response)
}

fn check(response: &[u8]) -> Result<()> {
    if response.is_empty() {
        return Err("the connection was dropped without a response".into());
    }
    let blank_line = response.windows(4).position(|window| window == b"\r\n\r\n");
    let body = blank_line.map(|start| &response[start + 4..]);
    if response.starts_with(b"HTTP/1.1 200 OK\r\n") && body == Some(BODY) {
        Ok(())
    } else {
        Err("the response is not what the server sent".into())
    }
}
