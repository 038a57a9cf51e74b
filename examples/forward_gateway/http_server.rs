//! The server in the sandbox: 64 bytes for every request, then it hangs up.

use crate::Result;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub const BODY: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// No request here is longer than this.
const LONGEST_REQUEST: usize = 8 * 1024;

/// A server on a port of its own, stopped when dropped.
pub struct HttpServer {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl HttpServer {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that hangs up early is its own loss; the client's side counts it.
                tokio::spawn(answer(stream));
            }
        });
        Ok(Self { address, accepting })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::with_capacity(256);
    while !request.ends_with(b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let found = request.starts_with(b"GET / HTTP/1.");
    let (status, body) = if found { ("200 OK", &BODY[..]) } else { ("404 Not Found", &[][..]) };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    stream.shutdown().await
}
