//! Pictures as sixels: six rows of a picture at a time, one colour after the other.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Colours that a terminal keeps.
const COLOURS: usize = 256;
/// Where a picture is not to be seen, this is what it stands on.
const GROUND: u8 = 255;

/// A picture: three bytes for each point, row by row.
#[derive(Debug)]
pub(crate) struct Pixels {
    pub(crate) width: usize,
    pub(crate) points: Vec<[u8; 3]>,
}

/// Read a PNG of at most `most` points.
pub(crate) fn read(png: &[u8], most: usize) -> Option<Pixels> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if width.checked_mul(height)? > most {
        return None;
    }
    let mut bytes = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut bytes).ok()?;
    let bytes = bytes.get(..frame.buffer_size())?;
    let over = |value: u8, alpha: u8| {
        let (value, alpha, ground) = (u32::from(value), u32::from(alpha), u32::from(GROUND));
        u8::try_from((value * alpha + ground * (255 - alpha)) / 255).unwrap_or(GROUND)
    };
    let points = bytes.chunks_exact(frame.color_type.samples());
    let points = points.map(|point| match *point {
        [red, green, blue, alpha] => [over(red, alpha), over(green, alpha), over(blue, alpha)],
        [red, green, blue] => [red, green, blue],
        [grey, alpha] => [over(grey, alpha); 3],
        [grey] => [grey; 3],
        _ => [GROUND; 3],
    });
    let points: Vec<_> = points.collect();
    (width > 0 && !points.is_empty()).then_some(Pixels { width, points })
}

/// The colours of a picture, and which one each point has.
fn palette(points: &[[u8; 3]]) -> (Vec<[u8; 3]>, Vec<usize>) {
    // As fine as possible so that there are not too many.
    for dropped in 0..8 {
        let mask = 0xff_u8 << dropped;
        let mut numbers: HashMap<[u8; 3], usize> = HashMap::new();
        let mut colours = Vec::new();
        let mut which = Vec::with_capacity(points.len());
        for point in points {
            let key = point.map(|value| value & mask);
            let next = numbers.len();
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                if next == COLOURS {
                    break;
                }
                colours.push(*point);
            }
            which.push(number);
        }
        if which.len() == points.len() {
            return (colours, which);
        }
    }
    (vec![[GROUND; 3]], vec![0; points.len()])
}

/// The picture for a terminal.
pub(crate) fn encode(pixels: &Pixels) -> String {
    let width = pixels.width;
    let height = pixels.points.len() / width;
    let (colours, which) = palette(&pixels.points);
    let mut out = format!("\u{1b}P0;1q\"1;1;{width};{height}");
    for (number, colour) in colours.iter().enumerate() {
        let [red, green, blue] = colour.map(|value| u32::from(value) * 100 / 255);
        let _ = write!(out, "#{number};2;{red};{green};{blue}");
    }
    for band in which.chunks(width * 6) {
        let mut used: Vec<usize> = band.to_vec();
        used.sort_unstable();
        used.dedup();
        for colour in used {
            let _ = write!(out, "#{colour}");
            let mut run = (0_u8, 0_usize);
            for column in 0..width {
                let rows = band.iter().skip(column).step_by(width).enumerate();
                let bits = rows.filter(|(_, one)| **one == colour);
                let bits = bits.fold(0_u8, |bits, (row, _)| bits | 1 << row);
                if bits != run.0 {
                    put(&mut out, run);
                    run = (bits, 0);
                }
                run.1 += 1;
            }
            put(&mut out, run);
            out.push('$');
        }
        out.push('-');
    }
    out.push_str("\u{1b}\\");
    out
}

/// The same six points, so often.
fn put(out: &mut String, (bits, count): (u8, usize)) {
    let letter = char::from(b'?' + bits);
    match count {
        0..4 => out.extend(std::iter::repeat_n(letter, count)),
        _ => drop(write!(out, "!{count}{letter}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, kind: png::ColorType, bytes: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(kind);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(bytes).unwrap();
        drop(writer);
        file
    }

    #[test]
    fn a_picture_comes_in_bands_of_six_rows() {
        let red_over_blue: Vec<u8> = [[255, 0, 0]; 6 * 5]
            .into_iter()
            .chain([[0, 0, 255]; 2 * 5])
            .flatten()
            .collect();
        let file = png(5, 8, png::ColorType::Rgb, &red_over_blue);
        let pixels = read(&file, 1000).unwrap();
        assert_eq!(
            encode(&pixels),
            "\u{1b}P0;1q\"1;1;5;8#0;2;100;0;0#1;2;0;0;100#0!5~$-#1!5B$-\u{1b}\\"
        );
        assert!(read(&file, 39).is_none(), "too many points");
        assert!(read(&file[..40], 1000).is_none(), "half a file");
        assert!(read(b"no picture", 1000).is_none());
    }

    #[test]
    fn what_is_not_to_be_seen_is_white_and_colours_are_not_too_many() {
        let file = png(1, 1, png::ColorType::Rgba, &[9, 9, 9, 0]);
        assert_eq!(read(&file, 10).unwrap().points, [[255; 3]]);
        let file = png(2, 1, png::ColorType::Grayscale, &[0, 7]);
        assert_eq!(read(&file, 10).unwrap().points, [[0; 3], [7; 3]]);
        let many: Vec<[u8; 3]> = (0..=255)
            .flat_map(|a| (0..=9).map(move |b| [a, b, 255 - a]))
            .collect();
        let (colours, which) = palette(&many);
        assert!(colours.len() <= COLOURS);
        assert_eq!(which.len(), many.len());
        assert!(which.iter().all(|number| *number < colours.len()));
    }
}
