//! Draws a recorded session as an SVG of a terminal window.
//!
//! Without animation the file shows the end of the session. With it, the commands are typed and the output appears, once. A page embeds
//! the file with `<img>`: no scripts, no fonts of its own, and a background of its own for light and dark pages.

use std::fmt::Write;
use std::time::Duration;

use super::screen::{Cell, Colour, ScreenRow, Style};
use super::session::RecordedCommand;

/// Width of a column. Monospace fonts are 0.6 em wide, and `textLength` corrects those that are not.
const CELL: f64 = 8.4;
const FONT: f64 = 14.0;
const LINE: f64 = 20.0;
/// Space around the text.
const PAD: f64 = 22.0;
/// From the bar to the base of the first line, and from the base of the last line to the end of the window.
const TOP: f64 = 28.0;
const BOTTOM: f64 = 22.0;
/// Height of the bar at the top of the window.
const BAR: f64 = 34.0;

/// Seconds before the first key.
const BEGIN: f64 = 0.5;
/// Seconds between two keys.
const KEY: f64 = 0.025;
/// Seconds between the last key and the output.
const ENTER: f64 = 0.2;
/// Seconds to read the output before the next command is typed.
const READ: f64 = 0.8;
/// A command that shows progress is played at this many times its speed.
const SPEED: f64 = 3.0;
/// Frames of progress that follow closer are left out: they would flicker.
const FRAME: Duration = Duration::from_millis(450);

/// Seconds for which two covers of a command overlap: without them the command would flash between the two.
const OVERLAP: f64 = 0.03;

const BACKGROUND: &str = "#171b26";
const TEXT: &str = "#c9d1dc";
const BOLD: &str = "#ffffff";

/// The 16 colours of the theme, readable on `BACKGROUND`.
const THEME: [&str; 16] = [
    "#565f73", "#ff8a80", "#7ee2a0", "#f2cc60", "#82b4ff", "#d2a8ff", "#76d9e6", "#c9d1dc", //
    "#8b949e", "#ffa198", "#9af0b8", "#f8e3a1", "#a5c8ff", "#e2c5ff", "#a5ecf5", "#ffffff",
];

const TITLE: &str = "curtsy crawls a site and explains two of its URLs";

/// How many rows the picture has.
pub(crate) fn rows(scenes: &[RecordedCommand]) -> usize {
    let rows: usize = scenes.iter().map(|scene| 1 + scene.output.len()).sum();
    rows + scenes.len().saturating_sub(1)
}

pub(crate) fn draw(scenes: &[RecordedCommand], columns: usize) -> String {
    let width = columns as f64 * CELL + 2.0 * PAD;
    let height = base(rows(scenes) - 1) + BOTTOM;
    let mut body = String::new();
    let (mut row, mut time) = (0, BEGIN);
    for (number, scene) in scenes.iter().enumerate() {
        time = draw_scene(&mut body, scene, row, if number == 0 { None } else { Some(time) }, time);
        row += 1 + scene.output.len() + 1;
        time += READ;
    }
    let commands: Vec<String> = scenes.iter().map(|scene| escape(&typed(scene))).collect();
    let commands = commands.join(", ");
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title desc">
<title id="title">{TITLE}</title>
<desc id="desc">A terminal with the commands {commands}, and what they print.</desc>
<!-- Recorded by `cargo xtask picture`. Do not edit. -->
<style>
text{{font:{FONT}px ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:{TEXT}}}
.b{{font-weight:700}}.d{{opacity:.7}}.i{{font-style:italic}}.u{{text-decoration:underline}}
.p,.k{{visibility:hidden}}
@media screen and (prefers-reduced-motion:no-preference){{.l{{animation:l .01s backwards}}.p{{animation:p 1s}}.k{{animation:k 1s}}}}
@keyframes l{{from,to{{visibility:hidden}}}}
@keyframes p{{from,to{{visibility:visible}}}}
@keyframes k{{from{{visibility:visible;transform:none}}to{{visibility:visible;transform:translateX(var(--w))}}}}
</style>
<clipPath id="w"><rect width="{width}" height="{height}" rx="10"/></clipPath>
<g clip-path="url(#w)">
<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>
<rect width="{width}" height="{BAR}" fill="#222837"/>
<g fill="#4a5368"><circle cx="20" cy="17" r="5.5"/><circle cx="39" cy="17" r="5.5"/><circle cx="58" cy="17" r="5.5"/></g>
{body}</g>
<rect x=".5" y=".5" width="{}" height="{}" rx="9.5" fill="none" stroke="#3b4459"/>
</svg>
"##,
        width - 1.0,
        height - 1.0,
    )
}

/// Draws a command and its output from `row` on. The prompt appears at `prompt`, the first key is pressed at `begin`. Returns the time at
/// which the output is complete.
fn draw_scene(
    out: &mut String,
    scene: &RecordedCommand,
    row: usize,
    prompt: Option<f64>,
    begin: f64,
) -> f64 {
    let typed = typed(scene).chars().count();
    let typing = typed as f64 * KEY;
    group(out, prompt.map(|time| Motion::Appear(time - READ)), |out| {
        draw_row(out, &scene.prompt, row);
    });
    // A cover in the colour of the background slides off the command, one column with each key. The cursor is its first column.
    let (x, y) = (x(scene.typed_from), base(row) - 15.0);
    let width = typed as f64 * CELL;
    // The command does not show before its first key, and the cover waits for that together with the cursor.
    let from = prompt.map_or(0.0, |time| time - READ);
    let mut cover = |class: &str, style: &str| {
        writeln!(
            out,
            r#"<g class="{class}" style="{style}"><rect x="{x:.1}" y="{y}" width="{:.1}" height="{LINE}" fill="{BACKGROUND}"/><rect x="{x:.1}" y="{}" width="{CELL}" height="17" fill="{TEXT}"/></g>"#,
            width + CELL,
            y + 1.0,
        )
        .expect("writing to a string");
    };
    cover("p", &timing(from, begin - from + OVERLAP));
    cover(
        "k",
        &format!(
            "{};animation-timing-function:steps({typed});--w:{width:.1}px",
            timing(begin, typing)
        ),
    );

    let start = begin + typing + ENTER;
    let end = start + scene.time.as_secs_f64() / SPEED;
    let progress = progress(scene);
    for (at, (since, rows)) in progress.iter().enumerate() {
        let until = progress.get(at + 1).map_or(scene.time, |(next, _)| *next);
        let span = (until - *since).as_secs_f64() / SPEED;
        let shown = Motion::Pass(start + since.as_secs_f64() / SPEED, span);
        group(out, Some(shown), |out| {
            for (below, line) in rows.iter().enumerate() {
                draw_row(out, line, row + 1 + below);
            }
        });
    }
    group(out, Some(Motion::Appear(end)), |out| {
        for (below, line) in scene.output.iter().enumerate() {
            draw_row(out, line, row + 1 + below);
        }
    });
    end
}

/// The screens that are drawn while a command runs. A command that prints its output at once has none.
fn progress(scene: &RecordedCommand) -> Vec<&(Duration, Vec<ScreenRow>)> {
    let mut kept: Vec<&(Duration, Vec<ScreenRow>)> = Vec::new();
    for frame in &scene.frames {
        let (since, rows) = frame;
        let is_late = kept.last().is_none_or(|(last, _)| *since - *last >= FRAME);
        let is_progress = !rows.is_empty() && *rows != scene.output;
        // Less than that before the end, a frame would not be seen.
        if is_late && is_progress && *since + FRAME / 2 <= scene.time {
            kept.push(frame);
        }
    }
    kept
}

/// When a group is to be seen, in seconds.
enum Motion {
    /// From a time on, and without animation.
    Appear(f64),
    /// From a time on for a span, and never without animation.
    Pass(f64, f64),
}

fn group(out: &mut String, motion: Option<Motion>, inside: impl FnOnce(&mut String)) {
    let attributes = match motion {
        None => String::new(),
        Some(Motion::Appear(time)) => {
            format!(r#" class="l" style="animation-delay:{time:.2}s""#)
        }
        Some(Motion::Pass(time, span)) => format!(r#" class="p" style="{}""#, timing(time, span)),
    };
    writeln!(out, "<g{attributes}>").expect("writing to a string");
    inside(out);
    out.push_str("</g>\n");
}

fn timing(delay: f64, duration: f64) -> String {
    format!("animation-delay:{delay:.2}s;animation-duration:{duration:.2}s")
}

fn x(column: usize) -> f64 {
    PAD + column as f64 * CELL
}

/// The base line of a row's text.
fn base(row: usize) -> f64 {
    BAR + TOP + row as f64 * LINE
}

fn draw_row(out: &mut String, row: &ScreenRow, number: usize) {
    let runs = runs(&row.0);
    if runs.is_empty() {
        return;
    }
    let y = base(number);
    write!(out, r#"<text y="{y}">"#).expect("writing to a string");
    for run in runs {
        let (x, length) = (x(run.column), run.columns as f64 * CELL);
        let (style, text) = (attributes(run.style), escape(&run.text));
        write!(out, r#"<tspan x="{x:.1}" textLength="{length:.1}"{style}>{text}</tspan>"#)
            .expect("writing to a string");
    }
    out.push_str("</text>\n");
}

/// Characters of one style that are drawn together, beginning at a column.
#[derive(Debug, PartialEq)]
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
}

/// Splits a row at changes of style, at two or more spaces (which XML would join), and around characters that a font may lack: those come
/// from another font and have another width.
fn runs(cells: &[Cell]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.char != ' ') {
        let joins = |run: &&mut Run| {
            let end = run.column + run.columns;
            column - end <= 1 && run.style == cell.style && run.text.is_ascii()
        };
        match runs.last_mut().filter(joins) {
            Some(run) if cell.char.is_ascii() => {
                if column > run.column + run.columns {
                    run.text.push(' ');
                }
                run.text.push(cell.char);
                run.columns = column + 1 - run.column;
            }
            _ => runs.push(Run { column, columns: 1, text: cell.char.into(), style: cell.style }),
        }
    }
    runs
}

fn attributes(style: Style) -> String {
    let classes =
        [(style.bold, "b"), (style.dim, "d"), (style.italic, "i"), (style.underline, "u")];
    let classes: Vec<&str> =
        classes.iter().filter(|(is_set, _)| *is_set).map(|(_, class)| *class).collect();
    let colour = match style.colour {
        Some(Colour::Theme(number)) => Some(THEME[usize::from(number) % THEME.len()].to_owned()),
        Some(Colour::Rgb(red, green, blue)) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        // Terminals draw bold text brighter.
        None if style.bold => Some(BOLD.to_owned()),
        None => None,
    };
    let mut attributes = String::new();
    if !classes.is_empty() {
        attributes = format!(r#" class="{}""#, classes.join(" "));
    }
    if let Some(colour) = colour {
        attributes += &format!(r#" fill="{colour}""#);
    }
    attributes
}

/// The command of a scene.
fn typed(scene: &RecordedCommand) -> String {
    scene.prompt.text().chars().skip(scene.typed_from).collect()
}

/// Text as it stands in XML, without characters that XML 1.0 does not allow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if char.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str, style: Style) -> ScreenRow {
        ScreenRow(text.chars().map(|char| Cell { char, style }).collect())
    }

    fn check_runs(text: &str, expected: &[(usize, usize, &str)]) {
        let found = runs(&row(text, Style::default()).0);
        let found: Vec<_> =
            found.iter().map(|run| (run.column, run.columns, run.text.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    fn scenes() -> Vec<RecordedCommand> {
        let plain = Style::default();
        let progress = (Duration::from_secs(1), vec![row("half <done>", plain)]);
        let prompt = row("$ a & b", plain);
        let output = vec![row("all \"done\"", plain)];
        vec![RecordedCommand {
            prompt,
            typed_from: 2,
            frames: vec![progress],
            time: Duration::from_secs(2),
            output,
        }]
    }

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(escape(r#"<a href="x">&</a>"#), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
        assert_eq!(escape("✗ → ·"), "✗ → ·");
        assert_eq!(escape("\u{1b}[0m\u{0}\u{ffff}"), "\u{fffd}[0m\u{fffd}\u{fffd}");
    }

    #[test]
    fn runs_begin_at_their_column() {
        check_runs("", &[]);
        check_runs("   ", &[]);
        check_runs("one two", &[(0, 7, "one two")]);
        check_runs("  one  two ", &[(2, 3, "one"), (7, 3, "two")]);
        check_runs("a → b", &[(0, 1, "a"), (2, 1, "→"), (4, 1, "b")]);
        check_runs("✗✗", &[(0, 1, "✗"), (1, 1, "✗")]);
    }

    #[test]
    fn styles_become_attributes() {
        let plain = Style::default();
        assert_eq!(attributes(plain), "");
        let red = Style { bold: true, colour: Some(Colour::Rgb(255, 0, 1)), ..plain };
        assert_eq!(attributes(red), r##" class="b" fill="#ff0001""##);
        let green = Style { dim: true, underline: true, colour: Some(Colour::Theme(2)), ..plain };
        assert_eq!(attributes(green), r##" class="d u" fill="#7ee2a0""##);
    }

    #[test]
    fn a_picture_has_the_command_the_progress_and_the_output() {
        let picture = draw(&scenes(), 20);
        for part in ["$ a &amp; b", "half &lt;done&gt;", "all &quot;done&quot;"] {
            assert!(picture.contains(part), "{part}");
        }
        for tag in ["g", "text", "tspan", "clipPath", "style", "desc"] {
            let opened = picture.matches(&format!("<{tag}>")).count()
                + picture.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, picture.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn only_progress_and_covers_are_hidden_without_animation() {
        let picture = draw(&scenes(), 20);
        let hidden =
            picture.matches(r#"class="p""#).count() + picture.matches(r#"class="k""#).count();
        assert_eq!(hidden, 3, "one frame of progress, and two covers of the command");
        assert_eq!(rows(&scenes()), 2);
    }
}
