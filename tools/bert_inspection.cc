#include "tools/bert_inspection.h"

#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "experiments/report/report.h"
#include "seq2seq/attention_inspection.h"

namespace regard {

namespace {

// The averages of HeadsTable(), in its order.
std::array<double, 6> MeansOf(absl::Span<const double> head, size_t tokens) {
  const size_t begin = tokens > 2 ? 1 : 0;
  const size_t end = tokens > 2 ? tokens - 1 : tokens;
  const double share = 1 / static_cast<double>(end - begin);
  std::array<double, 6> means = {};
  for (size_t i = begin; i < end; ++i) {
    const absl::Span<const double> row = head.subspan(i * tokens, tokens);
    const double numbers[] = {Entropy(row),
                              row[i],
                              i > 0 ? row[i - 1] : 0,
                              i + 1 < tokens ? row[i + 1] : 0,
                              row.front(),
                              row.back()};
    for (size_t n = 0; n < means.size(); ++n) means[n] += share * numbers[n];
  }
  return means;
}

}  // namespace

Table HeadsTable(const std::vector<LabelledMatrix>& layers) {
  Table table = {{"layer", "head", "entropy", "itself", "before", "after",
                  "[CLS]", "[SEP]"}};
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const LabelledMatrix& map = layers[layer];
    for (size_t head = 0; head < map.heads.size(); ++head) {
      std::vector<std::string> row = {absl::StrCat(layer + 1),
                                      absl::StrCat(head + 1)};
      for (const double mean : MeansOf(map.heads[head], map.rows.size())) {
        row.push_back(absl::StrFormat("%.3f", mean));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string BertInspectionHtml(const std::vector<LabelledMatrix>& layers,
                               absl::string_view name) {
  const std::string reading =
      "A row says how a token's new vector is mixed from those of the columns. "
      "The table has means over the tokens between [CLS] and [SEP]: the "
      "entropy of the weights in nats, 0 when one token has all of them, and "
      "the weight of the token itself, of its neighbours, and of [CLS] and "
      "[SEP].";
  return ReportHtml(
      {.title = absl::StrCat(name, ": attention"),
       .summary = absl::StrJoin(layers.at(0).rows, " "),
       .sections = {{"Attention", {AttentionCaution(), Maps{layers}}},
                    {"Heads", {HeadsTable(layers)}},
                    {"Reading this", {reading}}}});
}

}  // namespace regard
