// Builds the report of a run: one HTML file that opens from disk with the
// network off and asks no host for anything. Its curves and the values of heat
// maps under the pointer need JavaScript.
#ifndef EXPERIMENTS_REPORT_HTML_REPORT_H_
#define EXPERIMENTS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// Sections appear in the order in which they were added. All text given is
// plain text from untrusted sources and is escaped here. The bytes depend on
// what was added alone.
class HtmlReport {
 public:
  // `summary` is one sentence under the title; may be empty.
  HtmlReport(absl::string_view title, absl::string_view summary);

  // Shown as cards at the top of the page, wherever in the order it is called.
  void AddMetrics(absl::Span<const ShownMetric> metrics);

  void AddText(absl::string_view title,
               absl::Span<const std::string> paragraphs);
  // Every row has as many cells as the header; a cell that is a number is set
  // to the right.
  void AddTable(absl::string_view title, const Table& table);
  // One section with a figure per plot, drawn by a script in the page. Long
  // series are thinned to their extremes.
  void AddPlots(absl::string_view title, absl::Span<const Plot> plots);
  // One section with a heat map per matrix, and a warning against reading too
  // much into attention.
  void AddHeatMaps(absl::string_view title,
                   absl::Span<const LabelledMatrix> maps);
  // The same for maps to compare: large ones are shrunk so that two of them fit
  // side by side. `note` is a paragraph above them.
  void AddSideBySide(absl::string_view title, absl::string_view note,
                     absl::Span<const LabelledMatrix> maps);
  // One section with, for each, its maps side by side and its steps in a table
  // that is folded away but for the first.
  void AddExplanations(absl::string_view title,
                       absl::Span<const Explanation> explanations);
  void AddSamples(const Samples& samples);
  // A section of the matrix alone, under its title, without the warning.
  void AddMatrix(const LabelledMatrix& matrix);
  // One section; the warning stands above pictures with weights.
  void AddGallery(const Gallery& gallery);
  // Text shown as it is, folded away until asked for.
  void AddConfig(absl::string_view title, absl::string_view text);

  // The whole page.
  std::string Build() const;

 private:
  struct Section {
    std::string title;  // plain text
    std::string html;
  };

  void AddSection(absl::string_view title, std::string html);
  std::string HeatMaps(absl::Span<const LabelledMatrix> maps,
                       absl::string_view css_class);

  std::string title_;
  std::string summary_;
  std::string cards_;  // HTML
  std::vector<Section> sections_;
  int figures_ = 0;  // heat maps so far, for unique names in the page
  bool has_plots_ = false;
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_HTML_REPORT_H_
