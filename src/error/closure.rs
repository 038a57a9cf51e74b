//! What a closure ends with when it does not succeed.

use std::error::Error;
use std::fmt;

use crate::contained::Contained;

/// The error of a closure that ran inside the store: one of SQLite's, or any error of the caller's own.
///
/// Every error type converts into it, so that `?` works inside closures. Returning it from a write
/// closure undoes everything that the closure did.
///
/// ```
/// use walwright::WriteError;
///
/// #[derive(Debug)]
/// struct SoldOut;
/// impl std::fmt::Display for SoldOut {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("sold out")
///     }
/// }
/// impl std::error::Error for SoldOut {}
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// match store.write(|_tx| -> Result<(), _> { Err(SoldOut.into()) }).wait() {
///     Err(WriteError::Closure(error)) => assert!(error.downcast_ref::<SoldOut>().is_some()),
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
pub struct ClosureError(Contained<Box<dyn Error + Send + Sync>>);

impl ClosureError {
    /// An error made of a sentence.
    pub fn message(text: impl Into<String>) -> Self {
        Self(Contained::new(text.into().into()))
    }

    /// The error as rusqlite gave it, if it is one of SQLite's.
    pub fn as_rusqlite(&self) -> Option<&rusqlite::Error> {
        self.0.get().downcast_ref()
    }

    /// The caller's own error, if it is of type `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.get().downcast_ref()
    }

    /// The caller's own error if it is of type `E`, else the error as it was.
    pub(crate) fn downcast<E: Error + 'static>(self) -> Result<E, Self> {
        match self.0.into_inner().downcast() {
            Ok(error) => Ok(*error),
            Err(error) => Err(Self(Contained::new(error))),
        }
    }

    /// The error behind it, whatever it is.
    pub fn as_error(&self) -> &(dyn Error + 'static) {
        self.0.get().as_ref()
    }

    /// The boxed error itself.
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0.into_inner()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ClosureError {
    fn from(error: E) -> Self {
        Self(Contained::new(Box::new(error)))
    }
}

impl fmt::Display for ClosureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.get().fmt(f)
    }
}

impl fmt::Debug for ClosureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.get(), f)
    }
}
