// A report: a list of sections, which a page and a Markdown file render.
#ifndef EXPERIMENTS_REPORT_REPORT_H_
#define EXPERIMENTS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "experiments/report/run_results.h"

namespace regard {

// All text is plain text from untrusted sources.
struct Report {
  std::string title = {};
  std::string summary = {};  // one sentence under the title; may be empty
  std::vector<ShownMetric> metrics = {};        // cards at the top of the page
  std::vector<LabelledMatrix> first_maps = {};  // beside the cards
  std::vector<Block> lead = {};                 // before the list of sections
  std::vector<Section> sections = {};

  // Adds a section, unless it has no blocks, or one without rows or maps.
  void Add(Section section);
};

// A cell with one of these texts is set as a verdict.
inline constexpr char kVerdictSame[] = "✓ same";
inline constexpr char kVerdictDiffers[] = "✗ differs";

// One HTML file that opens from disk with the network off and asks no host for
// anything. Figures are drawn by the page's script from one element of JSON.
// The bytes depend on the report alone. CHECK-fails on a figure whose parts do
// not fit together.
std::string ReportHtml(const Report& report);

// For reading in a terminal or on a code host, without metrics, sections with
// figures and text that is folded away. A forest plot is a table. Bars in cells
// are escaped.
std::string ReportMarkdown(const Report& report);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORT_H_
