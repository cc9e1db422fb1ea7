#include "experiments/report/bert_inspection.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "attention/transformer/layer.h"
#include "experiments/report/report.h"
#include "seq2seq/attention_inspection.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// What HeadsTable() averages over the rows of a head.
struct HeadMeans {
  double entropy = 0;
  double self = 0;
  double before = 0;
  double after = 0;
  double first = 0;
  double last = 0;
};

HeadMeans MeansOf(absl::Span<const double> head, size_t tokens) {
  const size_t begin = tokens > 2 ? 1 : 0;
  const size_t end = tokens > 2 ? tokens - 1 : tokens;
  const double share = 1 / static_cast<double>(end - begin);
  HeadMeans means;
  for (size_t i = begin; i < end; ++i) {
    const absl::Span<const double> row = head.subspan(i * tokens, tokens);
    means.entropy += share * Entropy(row);
    means.self += share * row[i];
    if (i > 0) means.before += share * row[i - 1];
    if (i + 1 < tokens) means.after += share * row[i + 1];
    means.first += share * row.front();
    means.last += share * row.back();
  }
  return means;
}

}  // namespace

BertInspection InspectBert(const Bert<float>& bert, const WordPiece& pieces,
                           Forward<float>& forward, const BertBatch& text) {
  REGARD_CHECK_EQ(text.size, 1) << "texts at a time";
  BertInspection inspection;
  for (const int32_t id : text.ids) {
    inspection.tokens.push_back(pieces.Token(id));
  }
  std::vector<LayerWeights<float>> weights(
      static_cast<size_t>(bert.stack().layers()));
  bert(forward, text, {}, absl::MakeSpan(weights));
  const size_t size = text.ids.size() * text.ids.size();
  for (const LayerWeights<float>& of_layer : weights) {
    LabelledMatrix map;
    map.title = absl::StrCat("layer ", inspection.layers.size() + 1);
    map.rows = inspection.tokens;
    map.columns = inspection.tokens;
    const absl::Span<const float> all = of_layer.self.span();
    for (size_t first = 0; first < all.size(); first += size) {
      const absl::Span<const float> head = all.subspan(first, size);
      map.heads.emplace_back(head.begin(), head.end());
    }
    inspection.layers.push_back(std::move(map));
  }
  return inspection;
}

Table HeadsTable(const BertInspection& inspection) {
  Table table;
  table.header = {"layer",  "head",  "entropy", "itself",
                  "before", "after", "[CLS]",   "[SEP]"};
  for (size_t layer = 0; layer < inspection.layers.size(); ++layer) {
    const LabelledMatrix& map = inspection.layers[layer];
    for (size_t head = 0; head < map.heads.size(); ++head) {
      const HeadMeans means =
          MeansOf(map.heads[head], inspection.tokens.size());
      std::vector<std::string> row = {absl::StrCat(layer + 1),
                                      absl::StrCat(head + 1)};
      for (const double number : {means.entropy, means.self, means.before,
                                  means.after, means.first, means.last}) {
        row.push_back(absl::StrFormat("%.3f", number));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string BertInspectionHtml(const BertInspection& inspection,
                               absl::string_view name) {
  const std::string reading =
      "A row says how a token's new vector is mixed from those of the columns. "
      "The table has means over the tokens between [CLS] and [SEP]: the "
      "entropy of the weights in nats, 0 when one token has all of them, and "
      "the weight of the token itself, of its neighbours, and of [CLS] and "
      "[SEP].";
  return ReportHtml(
      {.title = absl::StrCat(name, ": attention"),
       .summary = absl::StrJoin(inspection.tokens, " "),
       .sections = {{.title = "Attention",
                     .blocks = {AttentionCaution(), Maps{inspection.layers}}},
                    {.title = "Heads", .blocks = {HeadsTable(inspection)}},
                    {.title = "Reading this", .blocks = {reading}}}});
}

}  // namespace regard
