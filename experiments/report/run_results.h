// What a run has to show for itself, as plain data: the report and the text at
// the end of a run draw the same structs.
#ifndef EXPERIMENTS_REPORT_RUN_RESULTS_H_
#define EXPERIMENTS_REPORT_RUN_RESULTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "attention/inspection/inspection.h"
#include "optimization/evaluated_set.h"

namespace regard {

struct ShownMetric {
  std::string name = {};  // as in metrics.jsonl, such as "test/exact_match"
  double value = 0;
  // What to compare with, such as "without attention: 0.41"; may be empty.
  std::string note = {};
  std::string meaning = {};  // may be empty
};

struct Samples {
  std::string title = "Samples";
  std::string input = "input";  // what the inputs are called: "source"
  // Where there is a reference, an output that is equal to it is right.
  std::vector<EvaluatedExample> rows = {};
};

struct Table {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

// A cell of a matrix, counted from 0, or a rectangle that begins there.
struct Cell {
  int row = 0;
  int column = 0;
  int rows = 1;
  int columns = 1;
};

// Weights with a name for each row and column. For a translation rows are
// target words and columns source words; for a regression, queries and keys.
struct LabelledMatrix {
  std::string title = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  // One matrix per head, each [rows, columns], row-major.
  std::vector<std::vector<double>> heads = {};
  std::vector<Cell> gold = {};  // cells to outline, such as a gold alignment
  // The hook point that the weights are of, as `intervene` accepts it; empty:
  // of none. Figures show it in place of what stands before ": " in the title,
  // which stays as it is in attention.json.
  std::string site = {};
};

// An image, and weights of the cells of a grid over it.
struct Picture {
  std::string title = {};
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb = {};  // [height, width, 3], row-major
  // The size of the grid; 0: there are no weights.
  int rows = 0;
  int columns = 0;
  std::vector<double> weights = {};  // [rows, columns], row-major
  std::vector<Cell> gold = {};       // to outline
};

enum class SeriesStyle { kLine, kDashedLine, kPoints };

struct Series {
  std::string name = {};
  std::vector<double> xs = {};
  // As many as xs; a value that is not finite is a gap.
  std::vector<double> ys = {};
  SeriesStyle style = SeriesStyle::kLine;
  // The ends of a band around each y, such as a confidence interval; none where
  // one of them is not finite. Empty for no band at all, else as many as xs.
  std::vector<double> low = {};
  std::vector<double> high = {};
};

struct Plot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<Series> series = {};
  bool logarithmic_y = false;  // values that are not positive become gaps
};

// One arm of a forest plot.
struct ForestRow {
  std::string label = {};
  std::vector<double> values = {};  // one for each seed
  // To the baseline, one for each seed; empty for the baseline itself.
  std::vector<double> differences = {};
  // Ends of an interval of the mean difference; both 0: there is none.
  double low = 0;
  double high = 0;
  std::string verdict = {};
  enum class Tone { kNone, kBetter, kWorse } tone = Tone::kNone;
};

struct ForestPlot {
  std::string title = {};     // such as "test/bleu by score"
  std::string metric = {};    // such as "test/bleu (higher is better)"
  std::string baseline = {};  // its label; empty: no differences are drawn
  std::vector<ForestRow> rows = {};
  std::string legend = {};
};

struct Heading {
  std::string text = {};
};

// The warning against reading too much into attention.
struct AttentionCaution {};

struct Maps {
  std::vector<LabelledMatrix> maps = {};
  // Large ones are shrunk so that two of them fit side by side.
  bool side_by_side = false;
};

// What a reader has to ask for: a table, or text that is shown as it is.
struct Folded {
  std::string label = {};
  std::variant<Table, std::string> content = {};
  bool open = false;         // at first
  bool in_markdown = false;  // under its label, as a heading
};

// A string is a paragraph. Every row of a table has as many cells as the
// header, CHECKed; a column of numbers is set to the right.
using Block =
    std::variant<std::string, Heading, AttentionCaution, Table, Folded, Plot,
                 Maps, std::vector<Picture>, ForestPlot>;

struct Section {
  std::string title = {};  // may be empty in Markdown
  std::vector<Block> blocks = {};
};

// What a run shows of its result besides numbers. Empty parts are left out.
struct Showcase {
  std::string summary = {};      // one sentence on what the task is
  std::vector<Plot> plots = {};  // such as a fitted curve
  Samples samples = {};
  std::vector<Section> sections = {};  // of the page
  // Answers to explain in a section of the page.
  std::vector<Inspection<float>> inspections = {};
  // Weights by sample; they also go to attention.json and TensorBoard.
  std::vector<LabelledMatrix> heat_maps = {};
  // False if a section shows them, and more.
  bool heat_maps_on_page = true;
  // Above the terminal's first heat map; without it, the terminal shows none.
  std::string heat_map_caption = {};
  // What to compare a metric with, by its prefixed name: "diagonal: 0.41".
  std::map<std::string, std::string> notes = {};
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_RESULTS_H_
