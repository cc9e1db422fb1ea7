// What a run has to show for itself, as plain data: the report and the text at
// the end of a run draw the same structs.
#ifndef EXPERIMENTS_REPORT_RUN_RESULTS_H_
#define EXPERIMENTS_REPORT_RUN_RESULTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/evaluated_set.h"

namespace regard {

// A number to show, with what to read it by.
struct ShownMetric {
  std::string name = {};  // as in metrics.jsonl, such as "test/exact_match"
  double value = 0;
  // What to compare the value with, such as "without attention: 0.41"; may be
  // empty.
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

// A cell of a matrix, counted from 0, or a rectangle of cells that begins
// there.
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

// Pictures that are shown side by side.
struct Gallery {
  std::string title = {};
  std::string note = {};  // a paragraph above them; may be empty
  std::vector<Picture> pictures = {};
};

// What a model looked at for one result, and how much that mattered.
struct Explanation {
  std::string title = {};
  std::string summary = {};  // in one sentence
  // To be seen side by side: weights, and gradients by them.
  std::vector<LabelledMatrix> maps = {};
  Table steps = {};  // a row for each step
};

enum class SeriesStyle { kLine, kDashedLine, kPoints };

struct Series {
  std::string name = {};
  std::vector<double> xs = {};
  // As many as xs; a value that is not finite is a gap.
  std::vector<double> ys = {};
  SeriesStyle style = SeriesStyle::kLine;
  // Half the height of a band around each y, such as a standard deviation; none
  // where it is not finite. Empty for no band at all, else as many as xs.
  std::vector<double> band = {};
};

struct Plot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<Series> series = {};
  bool logarithmic_y = false;  // values that are not positive become gaps
};

// What a run shows of its result besides numbers. Empty parts are left out.
struct Showcase {
  std::string summary = {};      // one sentence on what the task is
  std::vector<Plot> plots = {};  // such as a fitted curve
  Samples samples = {};
  // Numbers that are not attention, such as shares of confused classes.
  std::vector<LabelledMatrix> matrices = {};
  std::vector<Gallery> galleries = {};
  // Weights by sample; they also go to attention.json and TensorBoard.
  std::vector<LabelledMatrix> heat_maps = {};
  // Above the first heat map in the terminal; without it, the terminal shows
  // none.
  std::string heat_map_caption = {};
  // Take the place of the heat maps on the page.
  std::vector<Explanation> explanations = {};
  // What to compare a metric with, by its prefixed name: "diagonal: 0.41".
  std::map<std::string, std::string> notes = {};
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_RESULTS_H_
