#include "experiments/tasks/masked_words/bert_maps.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "seq2seq/attention_maps.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

std::vector<LabelledMatrix> BertMaps(const Bert<float>& bert,
                                     const WordPiece& pieces,
                                     Forward<float>& forward,
                                     const BertBatch& text) {
  REGARD_CHECK_EQ(text.size, 1) << "texts at a time";
  std::vector<std::string> tokens;
  for (const int32_t id : text.ids) tokens.push_back(pieces.Token(id));
  const size_t size = tokens.size() * tokens.size();
  std::vector<LabelledMatrix> maps;
  for (const AttentionMap<float>& of_layer :
       MapsOf(forward, {kAllMaps}, [&] { bert(forward, text); })) {
    LabelledMatrix map = {.title = absl::StrCat("layer ", maps.size() + 1),
                          .rows = tokens,
                          .columns = tokens};
    const absl::Span<const float> all = of_layer.weights;
    for (size_t first = 0; first < all.size(); first += size) {
      const absl::Span<const float> head = all.subspan(first, size);
      map.heads.emplace_back(head.begin(), head.end());
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace regard
