//! What macOS says about how a process was started (`KERN_PROCARGS2`): the number of its
//! arguments, the path of its program, filled up with zero bytes, the arguments, and then its
//! variables, each ended by a zero byte.

/// The variables, each ended by a zero byte.
pub(super) fn environment(said: &[u8]) -> Option<&[u8]> {
    let (count, rest) = said.split_first_chunk::<4>()?;
    let mut count = i32::from_ne_bytes(*count);
    let path = rest.iter().position(|byte| *byte == 0)?;
    let filled = rest.get(path..)?;
    let zeros = filled.iter().position(|byte| *byte != 0)?;
    let mut left = filled.get(zeros..)?;
    while count > 0 {
        let end = left.iter().position(|byte| *byte == 0)?;
        left = left.get(end + 1..)?;
        count -= 1;
    }
    // The system's own strings follow behind an empty one.
    let end = left.windows(2).position(|pair| pair == [0, 0]);
    left.get(..end.map_or(left.len(), |end| end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(count: i32, rest: &[u8]) -> Vec<u8> {
        [&count.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn variables_follow_the_arguments() {
        let all = said(2, b"/bin/x\0\0\0\0x\0-v\0A=1\0B=two words\0\0ptr_munge=\0");
        assert_eq!(environment(&all), Some(&b"A=1\0B=two words\0"[..]));
        let none = said(1, b"/bin/x\0\0x\0");
        assert_eq!(environment(&none), Some(&b""[..]));
    }

    #[test]
    fn what_is_cut_or_no_such_answer_has_none() {
        for bad in [
            &b""[..],
            b"\x01\0",
            &said(3, b"/bin/x\0\0x\0-v\0"),
            &said(1, b"/bin/x"),
        ] {
            assert_eq!(environment(bad), None, "{bad:?}");
        }
    }
}
