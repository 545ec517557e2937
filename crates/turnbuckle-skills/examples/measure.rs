//! Measures how long 1,000 skills of 10 files take to load: `cargo run --release --example measure --features server`.
#![allow(clippy::print_stdout, reason = "a program prints what it measured")]

use std::error::Error;
use std::fs;
use std::time::Instant;

use turnbuckle_skills::server::Skills;

fn main() -> Result<(), Box<dyn Error>> {
    let root =
        std::env::temp_dir().join(format!("turnbuckle-skills-measure-{}", std::process::id()));
    for skill in 0..1000 {
        let folder = root.join(format!("skill-{skill:04}"));
        fs::create_dir_all(folder.join("references"))?;
        let head = format!("---\nname: skill-{skill:04}\ndescription: Does number {skill}\n---\n");
        fs::write(folder.join("SKILL.md"), head + &"text\n".repeat(400))?;
        for file in 0..9 {
            fs::write(
                folder.join(format!("references/{file}.md")),
                "text\n".repeat(800),
            )?;
        }
    }
    for _ in 0..5 {
        let start = Instant::now();
        let count = Skills::from_dir(&root)?.count();
        println!("{count} skills of 10 files in {:?}", start.elapsed());
    }
    fs::remove_dir_all(&root)?;
    Ok(())
}
