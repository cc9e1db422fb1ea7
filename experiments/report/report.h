// A report: a list of sections, rendered as an HTML page or as Markdown.
#ifndef EXPERIMENTS_REPORT_REPORT_H_
#define EXPERIMENTS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "experiments/report/run_results.h"

namespace regard {

// The content of a report. All texts are plain text from untrusted sources.
struct Report {
  std::string title = {};
  std::string summary = {};  // one sentence under the title; may be empty
  std::vector<ShownMetric> metrics = {};        // cards at the top of the page
  std::vector<LabelledMatrix> first_maps = {};  // next to the cards
  std::vector<Block> lead = {};                 // before the table of contents
  std::vector<Section> sections = {};

  // Adds a section, unless it has no blocks, or its only block has no rows or
  // maps.
  void Add(Section section);
};

// Table cells with one of these texts are formatted as verdicts.
inline constexpr char kVerdictSame[] = "✓ same";
inline constexpr char kVerdictDiffers[] = "✗ differs";

// Returns one HTML file that works offline and makes no network requests. The
// script of the page draws the figures from one JSON element. The bytes depend
// only on the report. CHECK-fails if the parts of a figure do not match.
std::string ReportHtml(const Report& report);

// Returns Markdown for terminals and code hosts. Omits metrics, sections with
// figures, and folded text. A forest plot becomes a table. Vertical bars in
// cells are escaped.
std::string ReportMarkdown(const Report& report);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORT_H_
