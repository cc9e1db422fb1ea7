// A report: a list of sections that is rendered as an HTML page or as Markdown.
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

  // Adds a section, unless it has no blocks, or has an empty table or an empty
  // `Maps`.
  void Add(Section section);
};

// Table cells with one of these texts are formatted as verdicts.
inline constexpr char kVerdictSame[] = "✓ same";
inline constexpr char kVerdictDiffers[] = "✗ differs";

// Returns one HTML file that works offline and makes no network requests. A
// script draws the figures from one JSON element. The bytes depend only on the
// report. CHECK-fails if the sizes within a figure do not match.
std::string ReportHtml(const Report& report);

// Returns Markdown for terminals and code hosts. Omits metrics, sections with
// figures, and folded text. Replaces a forest plot by a table. Escapes vertical
// bars in cells.
std::string ReportMarkdown(const Report& report);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORT_H_
