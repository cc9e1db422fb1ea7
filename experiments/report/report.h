// A report: a list of sections, which a page and a Markdown file render.
#ifndef EXPERIMENTS_REPORT_REPORT_H_
#define EXPERIMENTS_REPORT_REPORT_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

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
  bool open = false;  // at first
};

// A string is a paragraph. Every row of a table has as many cells as the
// header, CHECKed; a column of numbers is set to the right.
using Block = std::variant<std::string, Heading, AttentionCaution, Table,
                           Folded, Plot, Maps, std::vector<Picture>>;

struct Section {
  std::string title = {};  // may be empty in Markdown
  std::vector<Block> blocks = {};
};

// All text is plain text from untrusted sources.
struct Report {
  std::string title = {};
  std::string summary = {};  // one sentence under the title; may be empty
  std::vector<ShownMetric> metrics = {};  // cards at the top of the page
  std::vector<Section> sections = {};

  // Adds a section, unless it has no blocks, or a block is a table without rows
  // or has no maps, so that there is nothing to say.
  void Add(Section section);
};

// A cell with one of these texts is set as a verdict.
inline constexpr char kVerdictSame[] = "✓ same";
inline constexpr char kVerdictDiffers[] = "✗ differs";

// Each explanation with its maps side by side and its steps in a table, which
// is folded away but for the first.
Section ExplanationsSection(absl::Span<const Explanation> explanations);

// One HTML file that opens from disk with the network off and asks no host for
// anything. Figures are drawn by the page's script from one element of JSON.
// The bytes depend on the report alone. CHECK-fails on a figure whose parts do
// not fit together.
std::string ReportHtml(const Report& report);

// For reading in a terminal or on a code host, without metrics, sections with
// figures and what is folded away. Bars in cells are escaped.
std::string ReportMarkdown(const Report& report);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORT_H_
