//! Descriptors that a host left open for its children by mistake.

/// Closes every descriptor but the three pipes. To be called before this process has opened any.
pub(crate) fn close_inherited() -> std::io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "closing descriptors that nobody owns has no safe form"
    )]
    // SAFETY: only numbers are passed. The process is a worker at its very start: it has one thread and
    // has opened nothing, so no descriptor above the pipes belongs to anyone in it.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    if result == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
