#include "experiments/run/weights_digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/run/sha256.h"

namespace regard {
namespace {

static_assert(std::endian::native == std::endian::little);

void UpdateInteger(Sha256& sha256, uint64_t value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(value)>>(value);
  sha256.Update(absl::string_view(bytes.data(), bytes.size()));
}

}  // namespace

std::string WeightsDigest(absl::Span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) {
              return a->name < b->name;
            });
  Sha256 sha256;
  for (const TensorView* tensor : order) {
    UpdateInteger(sha256, tensor->name.size());
    sha256.Update(tensor->name);
    UpdateInteger(sha256, tensor->shape.size());
    for (const int64_t size : tensor->shape) UpdateInteger(sha256, size);
    sha256.Update(
        absl::string_view(reinterpret_cast<const char*>(tensor->values.data()),
                          tensor->values.size() * sizeof(float)));
  }
  return sha256.HexDigest();
}

}  // namespace regard
