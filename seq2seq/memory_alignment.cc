#include "seq2seq/memory_alignment.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

std::vector<std::string> AlignmentSites(const AlignmentChoice& choice,
                                        absl::string_view value) {
  const std::string layer = choice.layer < 0 ? "*" : absl::StrCat(choice.layer);
  return {absl::StrCat("*decoder/layers[", layer, "]/cross/attention/", value),
          absl::StrCat("*decoder/attention/", value)};
}

template <typename T>
AttentionMap<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps,
                                const AlignmentChoice& choice) {
  const AttentionMap<T>* chosen = nullptr;
  bool any = false;
  for (const AttentionMap<T>& map : maps) {
    if (!map.over_memory) continue;
    any = true;
    if (choice.layer < 0 || map.layer == choice.layer) chosen = &map;
  }
  if (!any) return {};
  REGARD_CHECK(chosen != nullptr)
      << "no map over the memory of layer " << choice.layer;
  AttentionMap<T> alignment;
  alignment.name = chosen->name;
  alignment.layer = chosen->layer;
  alignment.over_memory = true;
  alignment.shape = chosen->shape.With(1, 1);
  alignment.weights.resize(static_cast<size_t>(alignment.shape.size()));
  CopyHead(chosen->shape, chosen->weights.data(), choice.head,
           alignment.weights.data());
  return alignment;
}

REGARD_INSTANTIATE_FUNCTION(MemoryAlignment);

}  // namespace regard
