//! Archives of bundles.

use std::io::{self, Read};

use pillion_bundle::{BundleFile, BundleLimits, BundleLink, Digest, Manifest, Sink, paths};

/// A tar archive is read or refused. Of one that is read, every file is one that its manifest
/// lists, with the content that it says, at a path below the root. The bytes are those of the
/// tar archive: compression would keep a fuzzer from ever getting that far.
pub fn bundle(data: &[u8]) {
    // Stored, not compressed: the frame of gzip around it costs next to nothing.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let packed = io::Write::write_all(&mut encoder, data).and_then(|()| encoder.finish());
    let Ok(packed) = packed else { return };
    let limits = BundleLimits {
        unpacked: 1 << 20,
        manifest: 1 << 16,
        entries: 100,
        ..BundleLimits::default()
    };
    let mut kept = Kept::default();
    let outcome = pillion_bundle::read(packed.as_slice(), &limits, &mut kept);
    let Ok(verified) = outcome else { return };
    assert_eq!(kept.0.len(), verified.manifest.files().len());
    for (file, content) in kept.0 {
        assert_eq!(file.sha256, Digest::of(&content));
        assert!(paths::check(&file.path, paths::Names::Unix).is_ok());
    }
}

#[derive(Default)]
struct Kept(Vec<(BundleFile, Vec<u8>)>);

impl Sink for Kept {
    fn manifest(&mut self, _: &Manifest, _: &[u8]) -> pillion_bundle::Result<()> {
        Ok(())
    }

    fn file(&mut self, file: &BundleFile, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.0.push((file.clone(), bytes));
        Ok(())
    }

    fn link(&mut self, _: &BundleLink) -> io::Result<()> {
        Ok(())
    }
}
