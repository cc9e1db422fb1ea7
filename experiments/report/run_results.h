// The results of a run as plain data. The HTML report and the text on the
// terminal show the same structs.
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
  std::string name = {};  // name in metrics.jsonl, such as "test/exact_match"
  double value = 0;
  // A value to compare with, such as "without attention: 0.41". May be empty.
  std::string note = {};
  std::string meaning = {};  // may be empty
};

struct Samples {
  std::string title = "Samples";
  std::string input = "input";  // the name of the inputs, such as "source"
  // The examples. The output of an example with a reference is correct if it
  // equals the reference.
  std::vector<ExampleTexts> rows = {};
};

struct Table {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

// A cell of a matrix, or a rectangle of cells whose first row and column are
// `row` and `column`. Rows and columns are counted from 0.
struct CellRectangle {
  int row = 0;
  int column = 0;
  int rows = 1;
  int columns = 1;
};

// A matrix of weights, with a name for each row and column. In a translation,
// rows are target words and columns are source words. In a regression, rows are
// queries and columns are keys.
struct LabelledMatrix {
  std::string title = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  // One matrix per head, each [rows, columns], row-major.
  std::vector<std::vector<double>> heads = {};
  // Cells to outline, such as a gold alignment.
  std::vector<CellRectangle> gold = {};
  // The hook point of the weights, in the form that `intervene` accepts. Empty
  // if there is none. In figures, the hook point replaces the part of the title
  // before ": ". In attention.json, the title does not change.
  std::string site = {};
};

// An image, and the weights of a grid of cells over it.
struct WeightedImage {
  std::string title = {};
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb = {};  // [height, width, 3], row-major
  // The numbers of rows and columns of the grid of cells. Both are 0 if there
  // are no weights.
  int rows = 0;
  int columns = 0;
  std::vector<double> weights = {};      // [rows, columns], row-major
  std::vector<CellRectangle> gold = {};  // cells to outline
};

enum class SeriesStyle { kLine, kDashedLine, kPoints };

struct Series {
  std::string name = {};
  std::vector<double> xs = {};
  // Has as many values as xs. A value that is not finite is a gap.
  std::vector<double> ys = {};
  SeriesStyle style = SeriesStyle::kLine;
  // The limits of a band around each y, such as a confidence interval. Empty if
  // there is no band. Otherwise, they have as many values as xs. The band has a
  // gap where a limit is not finite.
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
  // Differences from the baseline, one for each seed. Empty for the baseline
  // itself.
  std::vector<double> differences = {};
  // The limits of an interval of the mean difference. Both are 0 if there is no
  // interval.
  double low = 0;
  double high = 0;
  std::string verdict = {};
  enum class Tone { kNone, kBetter, kWorse } tone = Tone::kNone;
};

struct ForestPlot {
  std::string title = {};   // such as "test/bleu by score"
  std::string metric = {};  // such as "test/bleu (higher is better)"
  // Label of the baseline. If empty, no differences are drawn.
  std::string baseline = {};
  std::vector<ForestRow> rows = {};
  std::string legend = {};
};

struct Heading {
  std::string text = {};
};

// A warning not to over-interpret attention weights.
struct AttentionCaution {};

struct Maps {
  std::vector<LabelledMatrix> maps = {};
  // Whether large maps are shrunk so that two of them fit side by side.
  bool side_by_side = false;
};

// Content that a reader unfolds: a table, or preformatted text.
struct CollapsibleBlock {
  std::string label = {};
  std::variant<Table, std::string> content = {};
  bool open = false;  // whether it is unfolded initially
  // Whether Markdown shows the content under its label.
  bool in_markdown = false;
};

// A part of a section. A string is a paragraph. Every row of a table must have
// as many cells as the header (CHECKed). Columns of numbers are right-aligned.
using Block = std::variant<std::string, Heading, AttentionCaution, Table,
                           CollapsibleBlock, Plot, Maps,
                           std::vector<WeightedImage>, ForestPlot>;

struct Section {
  std::string title = {};  // may be empty in Markdown
  std::vector<Block> blocks = {};
};

// The results of a run other than its metrics. Empty parts are omitted.
struct Showcase {
  std::string summary = {};      // one sentence that describes the task
  std::vector<Plot> plots = {};  // such as a fitted curve
  Samples samples = {};
  std::vector<Section> sections = {};  // sections of the page
  // Predictions that a section of the page explains.
  std::vector<Inspection<float>> inspections = {};
  // Attention weights for each sample. They are also written to attention.json
  // and TensorBoard.
  std::vector<LabelledMatrix> heat_maps = {};
  // Whether the page shows the heat maps. False if a section contains them.
  bool heat_maps_on_page = true;
  // Caption of the first heat map on the terminal. If empty, the terminal shows
  // no heat map.
  std::string heat_map_caption = {};
  // Values to compare with metrics, such as "diagonal: 0.41", by metric.
  std::map<std::string, std::string> notes = {};
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_RESULTS_H_
