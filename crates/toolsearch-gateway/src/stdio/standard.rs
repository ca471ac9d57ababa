//! Standard input and output of this process as the runtime's own streams. Where they are pipes or
//! sockets, as under every client that starts its servers, no thread stands in between: that would
//! cost a call two changes of threads each way.

use tokio::io::{AsyncRead, AsyncWrite};

/// Something to read from.
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Something to write to.
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. Files, terminals and whatever cannot be waited for are read and written
/// by threads of the runtime.
pub(crate) fn streams() -> (Input, Output) {
    #[cfg(target_os = "linux")]
    return (
        linux::input().unwrap_or_else(|| Box::new(tokio::io::stdin())),
        linux::output().unwrap_or_else(|| Box::new(tokio::io::stdout())),
    );
    #[cfg(not(target_os = "linux"))]
    return (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    pub(super) fn input() -> Option<Input> {
        match pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            Ok(pipe) => Some(Box::new(pipe)),
            Err(_) => Some(Box::new(socket(&io::stdin()).ok()?)),
        }
    }

    pub(super) fn output() -> Option<Output> {
        match pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            Ok(pipe) => Some(Box::new(pipe)),
            Err(_) => Some(Box::new(socket(&io::stdout()).ok()?)),
        }
    }

    /// Fails for what is no socket. A pipe is opened anew, so that not blocking holds for this process
    /// alone; a socket cannot be, so that one which standard error shares is left as it is: whoever
    /// writes there expects to be able to.
    fn socket(stream: &impl AsFd) -> io::Result<UnixStream> {
        if place(stream)? == place(&io::stderr())? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let socket = net::UnixStream::from(stream.as_fd().try_clone_to_owned()?);
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    /// The same for streams that are one.
    fn place(stream: &impl AsFd) -> io::Result<(u64, u64)> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?).metadata()?;
        Ok((file.dev(), file.ino()))
    }
}
