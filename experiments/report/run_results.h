// What a run has to show for itself, as plain data: the report and the text at
// the end of a run draw the same structs.
#ifndef EXPERIMENTS_REPORT_RUN_RESULTS_H_
#define EXPERIMENTS_REPORT_RUN_RESULTS_H_

#include <string>
#include <vector>

namespace regard {

struct Metric {
  std::string name = {};  // as in metrics.jsonl, such as "test/exact_match"
  double value = 0;
  // What to compare the value with, such as "without attention: 0.41"; may be
  // empty.
  std::string note = {};
};

struct TranslationSample {
  std::string source = {};
  std::string reference = {};  // empty where there is none
  std::string hypothesis = {};
  bool correct = false;  // read only where there is a reference
};

struct Table {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

// A cell of a matrix, counted from 0.
struct Cell {
  int row = 0;
  int column = 0;
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

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_RESULTS_H_
