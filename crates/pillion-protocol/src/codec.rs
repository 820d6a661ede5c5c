//! The framings as tokio codecs.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use crate::frame::{ContentLength, FrameError, Lines, write_content_length, write_line};

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl Decoder for ContentLength {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        Ok(self.next(buffer)?)
    }
}

impl Encoder<&[u8]> for ContentLength {
    type Error = io::Error;

    fn encode(&mut self, body: &[u8], out: &mut BytesMut) -> io::Result<()> {
        write_content_length(body, out);
        Ok(())
    }
}

impl Decoder for Lines {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        Ok(self.next(buffer)?)
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        Ok(self.last(buffer)?)
    }
}

impl Encoder<&[u8]> for Lines {
    type Error = io::Error;

    fn encode(&mut self, json: &[u8], out: &mut BytesMut) -> io::Result<()> {
        write_line(json, out);
        Ok(())
    }
}
