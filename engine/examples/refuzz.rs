use zjs_engine::pure::regexp::*;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let (mut n, mut bad, mut own) = (0, 0, 0);
    for line in text.lines() {
        let f: Vec<&str> = line.split('\t').collect();
        let un = |s: &str| -> Vec<u16> { if s.is_empty() { vec![] } else { s.split(',').map(|x| x.parse().unwrap()).collect() } };
        let (src, flags, subj, at, want) = (un(f[0]), f[1], un(f[2]), f[3].parse::<usize>().unwrap(), f[4]);
        n += 1;
        let fl = RegExpFlags::parse(flags.as_bytes()).unwrap();
        let p = match compile(src.as_slice(), fl) { Ok(p) => p, Err(e) => { if want != "E" { bad += 1; println!("ERR {} /{}/{} {}", e, String::from_utf16_lossy(&src), flags, want); } continue } };
        if want == "E" { bad += 1; println!("ACCEPTED /{}/{}", String::from_utf16_lossy(&src), flags); continue; }
        own += p.is_own() as u32;
        let mut c = Captures::default();
        let mut run = |t: Text| { let r = p.exec(t, at, fl.has(b'y'), &mut c, &mut Scratch::default(), 1 << 24).0; if r == Ok(true) { c.slots.iter().map(|s| if *s == u32::MAX { "-1".to_string() } else { s.to_string() }).collect::<Vec<_>>().join(",") } else { format!("N") } };
        let mut got = vec![run(Text::Utf16(&subj))];
        if subj.iter().all(|&u| u < 256) { let l: Vec<u8> = subj.iter().map(|&u| u as u8).collect(); got.push(run(Text::Latin1(&l))); }
        for g in got { if g != want { bad += 1; if bad < 40 { println!("DIFF own={} /{}/{} on {:?} at {}: want {} got {}", p.is_own(), String::from_utf16_lossy(&src), flags, String::from_utf16_lossy(&subj), at, want, g); } } }
    }
    println!("{n} cases, {own} own, {bad} bad");
}
