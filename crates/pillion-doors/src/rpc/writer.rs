//! Writes the answers of one connection.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use pillion_protocol::frame::write_content_length;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// A peer that takes nothing for so long is given up.
const STALLED: Duration = Duration::from_secs(60);

/// Write frames until there are no more, or the peer is gone.
pub(super) async fn write_frames(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Bytes>,
) {
    let mut buffer = BytesMut::new();
    while let Some(frame) = queue.recv().await {
        write_content_length(&frame, &mut buffer);
        // What else is there goes with it: one system call for many answers.
        while buffer.len() < 64 * 1024
            && let Ok(frame) = queue.try_recv()
        {
            write_content_length(&frame, &mut buffer);
        }
        while buffer.has_remaining() {
            match tokio::time::timeout(STALLED, writer.write_buf(&mut buffer)).await {
                Ok(Ok(1..)) => {}
                _ => return,
            }
        }
        if writer.flush().await.is_err() {
            return;
        }
        // A large answer must not keep its memory for the life of the connection.
        if buffer.capacity() > 1 << 20 {
            buffer = BytesMut::new();
        }
    }
    let _ = writer.shutdown().await;
}
