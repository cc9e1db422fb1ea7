#include "optimization/slab_chunks.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

TEST(SlabChunksTest, CoverEachTrainableElementOnce) {
  for (const int64_t size : {0, 1, 4095, 4096, 4097, 12301}) {
    ParameterStore<float> store;
    store.Root().Add("before", {3}, Zeros());
    store.Root().Add("frozen", {4099}, Zeros(), {.trainable = false});
    store.Root().Add("tested", {size}, Zeros());
    store.Root().Add("after", {5}, Zeros());
    store.Finalize(0);
    const SlabChunks chunks(store);
    EXPECT_EQ(chunks.size(), (store.slab_size() + 4095) / 4096);
    std::vector<int> owner(static_cast<size_t>(store.slab_size()), -1);
    for (int64_t chunk = 0; chunk < chunks.size(); ++chunk) {
      for (const SlabChunks::Range& range : chunks[chunk]) {
        EXPECT_GE(range.begin, chunk * SlabChunks::kElements);
        EXPECT_LE(range.end, (chunk + 1) * SlabChunks::kElements);
        for (int64_t i = range.begin; i < range.end; ++i) {
          ASSERT_EQ(owner[i], -1) << i;
          owner[i] = range.parameter;
        }
      }
    }
    for (int index = 0; index < 4; ++index) {
      const ParameterInfo& info = store.parameters()[index];
      for (int64_t i = 0; i < info.size(); ++i) {
        ASSERT_EQ(owner[info.offset + i], index == 1 ? -1 : index)
            << info.name << " " << i;
      }
    }
  }
}

TEST(SlabChunksTest, AnEmptyStoreHasNone) {
  ParameterStore<double> store;
  store.Finalize(0);
  EXPECT_EQ(SlabChunks(store).size(), 0);
}

}  // namespace
}  // namespace regard
