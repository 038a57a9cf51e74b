//! Plots, as SVG files: lines over two axes, and no more than that.

use crate::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Lines over two axes.
pub struct Plot<'a> {
    pub title: &'a str,
    pub across: Axis<'a>,
    pub up: Axis<'a>,
    pub lines: Vec<Line>,
    /// Places on the first axis to be marked, and what they are.
    pub marks: Option<(&'a str, Vec<f64>)>,
}

/// One axis.
#[derive(Clone, Copy)]
pub struct Axis<'a> {
    pub label: &'a str,
    pub is_logarithmic: bool,
}

/// One line, of points from left to right.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 420.0;
/// The plane's edges.
const LEFT: f64 = 80.0;
const RIGHT: f64 = WIDTH - 180.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = HEIGHT - 50.0;
const COLOURS: [&str; 6] = ["#1b6ca8", "#888888", "#d06b1f", "#a83232", "#3c8d40", "#7a4a9e"];

impl Plot<'_> {
    /// Writes the file. Without a single point there is nothing to draw, and no file.
    pub fn draw(&self, path: &Path) -> Result<()> {
        let points = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let across = Scale::over(self.across, points().map(|point| point.0), LEFT, RIGHT);
        let up = Scale::over(self.up, points().map(|point| point.1), BOTTOM, TOP);
        let (Some(across), Some(up)) = (across, up) else { return Ok(()) };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{}</text>\n",
            escaped(self.title)
        );
        self.draw_axes(&mut svg, &across, &up)?;
        if let Some((_, marks)) = &self.marks {
            for x in marks.iter().map(|mark| across.place(*mark)) {
                writeln!(svg, "<path d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke=\"#e0c080\" fill=\"none\"/>")?;
            }
        }
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let place = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", across.place(*x), up.place(*y));
            let places: Vec<_> = line.points.iter().map(place).collect();
            let places = places.join(" ");
            writeln!(
                svg,
                "<polyline points=\"{places}\" stroke=\"{colour}\" stroke-width=\"1.5\" fill=\"none\"/>"
            )?;
        }
        self.draw_legend(&mut svg)?;
        svg += "</svg>\n";
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, svg)?)
    }

    fn draw_axes(&self, svg: &mut String, across: &Scale, up: &Scale) -> Result<()> {
        for (tick, y) in up.ticks() {
            writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#eeeeee\"/>")?;
            let (x, y) = (LEFT - 8.0, y + 4.0);
            writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{tick}</text>")?;
        }
        for (tick, x) in across.ticks() {
            writeln!(svg, "<path d=\"M{x:.1} {BOTTOM}v4\" stroke=\"black\"/>")?;
            let y = BOTTOM + 18.0;
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{tick}</text>")?;
        }
        writeln!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" stroke=\"black\" fill=\"none\"/>")?;
        let (x, y) = (f64::midpoint(LEFT, RIGHT), HEIGHT - 12.0);
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            escaped(self.across.label)
        )?;
        let (x, y) = (18.0, f64::midpoint(TOP, BOTTOM));
        let turned = format!("transform=\"rotate(-90 {x} {y})\"");
        let label = escaped(self.up.label);
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" {turned}>{label}</text>")?;
        Ok(())
    }

    fn draw_legend(&self, svg: &mut String) -> Result<()> {
        let lines =
            self.lines.iter().zip(COLOURS.iter().cycle()).map(|(line, colour)| (&*line.name, *colour));
        let marks = self.marks.iter().map(|(name, _)| (*name, "#e0c080"));
        for (at, (name, colour)) in lines.chain(marks).enumerate() {
            let (x, y) = (RIGHT + 12.0, TOP + 8.0 + 20.0 * at as f64);
            writeln!(svg, "<path d=\"M{x} {y}h18\" stroke=\"{colour}\" stroke-width=\"3\"/>")?;
            let (x, y) = (x + 24.0, y + 4.0);
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(name))?;
        }
        Ok(())
    }
}

/// From figures to places.
struct Scale {
    is_logarithmic: bool,
    least: f64,
    greatest: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale that holds all figures. `None`: there are none.
    fn over(axis: Axis<'_>, figures: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        // Zero has no place on a logarithmic axis.
        let figures = figures.filter(|figure| figure.is_finite() && (!axis.is_logarithmic || *figure > 0.0));
        let (least, greatest) =
            figures.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), figure| (a.min(figure), b.max(figure)));
        if least > greatest {
            return None;
        }
        let least = if axis.is_logarithmic { least } else { least.min(0.0) };
        let greatest = if greatest > least { greatest } else { least + 1.0 };
        Some(Self { is_logarithmic: axis.is_logarithmic, least, greatest, from, to })
    }

    fn place(&self, figure: f64) -> f64 {
        let part = if self.is_logarithmic {
            (figure.max(self.least) / self.least).ln() / (self.greatest / self.least).ln()
        } else {
            (figure - self.least) / (self.greatest - self.least)
        };
        self.from + part * (self.to - self.from)
    }

    /// Round figures on the axis, and where they are.
    fn ticks(&self) -> Vec<(String, f64)> {
        let within = |figure: &f64| (self.least..=self.greatest).contains(figure);
        let figures: Vec<f64> = if self.is_logarithmic {
            let decades = self.least.log10().floor() as i32..=self.greatest.log10().ceil() as i32;
            let wide = self.greatest / self.least > 1e4;
            let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect()
        } else {
            let rough = (self.greatest - self.least) / 5.0;
            let decade = 10_f64.powf(rough.log10().floor());
            let step =
                [1.0, 2.0, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= rough);
            let step = step.unwrap_or(rough);
            (0..=10).map(|number| f64::from(number) * step).collect()
        };
        figures.into_iter().filter(within).map(|figure| (shown(figure), self.place(figure))).collect()
    }
}

/// A tick without needless digits.
fn shown(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_in_their_places() {
        let axis = Axis { label: "", is_logarithmic: true };
        let scale = Scale::over(axis, [1.0, 1_000.0].into_iter(), 0.0, 300.0).unwrap();
        let ticks = scale.ticks();
        assert_eq!(ticks.first(), Some(&("1".to_owned(), 0.0)));
        assert!((scale.place(10.0) - 100.0).abs() < 1e-9);
        let axis = Axis { label: "", is_logarithmic: false };
        let scale = Scale::over(axis, [2.0, 10.0].into_iter(), 0.0, 100.0).unwrap();
        assert_eq!(
            scale.ticks().iter().map(|tick| tick.0.as_str()).collect::<Vec<_>>(),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert!(Scale::over(axis, std::iter::empty(), 0.0, 1.0).is_none());
    }
}
