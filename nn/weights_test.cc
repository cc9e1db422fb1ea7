#include "nn/weights.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "autodiff/packed_weights.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "files/sha256.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;

TEST(LoadWeightsTest, RefusesNumbersThatAreNotFinite) {
  ParameterStore<float> store;
  store.Root().Add("a", {2}, Constant(1));
  store.Root().Add("b", {3}, Constant(1));
  store.Finalize(0);
  const std::string path = JoinPath(::testing::TempDir(), "w.safetensors");
  const auto write = [&] {
    return WriteSafetensorsFile(path, SlabViews(store, store.values(), ""), {},
                                SystemFiles());
  };
  ASSERT_THAT(write(), IsOk());
  EXPECT_THAT(LoadWeights(path, store), IsOk());
  for (const float bad : {std::nanf(""), -HUGE_VALF}) {
    store.values()[store.parameters()[1].offset] = bad;
    ASSERT_THAT(write(), IsOk());
    EXPECT_THAT(LoadWeights(path, store),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         path + ": tensor 'b' has numbers that are not finite; "
                                "all weights must be finite"));
  }
}

TEST(LoadWeightsTest, MakesPackedCopiesOutOfDate) {
  ParameterStore<float> store;
  store.Root().Add("a", {2, 1}, Constant(1));
  store.Finalize(0);
  const std::string path = JoinPath(::testing::TempDir(), "a.safetensors");
  ASSERT_THAT(WriteSafetensorsFile(path, SlabViews(store, store.values(), ""),
                                   {}, SystemFiles()),
              IsOk());
  const ConstMatrix<float> transposed(store.values().data(), 1, 2);
  const auto has_copy = [&](PackedForm form) {
    const ConstMatrix<float> copy =
        store.packed(0).FindOrAdd({0, 2, 1, 1}, form)->WithCurrent(transposed);
    return copy.panels != nullptr || copy.pairs != nullptr;
  };
  const auto forms = {PackedForm::kTranspose, PackedForm::kRoundedTranspose};
  for (const PackedForm form : forms) {
    store.packed(0).FindOrAdd({0, 2, 1, 1}, form)->PackIfOutdated(transposed);
    ASSERT_TRUE(has_copy(form));
  }
  ASSERT_THAT(LoadWeights(path, store), IsOk());
  for (const PackedForm form : forms) EXPECT_FALSE(has_copy(form));
}

TEST(WeightsDigestTest, IsTheDigestOfTheDocumentedBytes) {
  const std::vector<float> values = {1.0f, -2.0f};
  const std::string bytes(
      "\x01\0\0\0\0\0\0\0"  // length of the name
      "w"
      "\x02\0\0\0\0\0\0\0"  // rank
      "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
      "\0\0\x80\x3f\0\0\0\xc0",
      41);
  EXPECT_EQ(WeightsDigest({{"w", {1, 2}, values}}), Sha256Hex(bytes));
}

TEST(WeightsDigestTest, OrderDoesNotMatter) {
  const std::vector<float> a = {1.0f};
  const std::vector<float> b = {2.0f};
  EXPECT_EQ(WeightsDigest({{"a", {1}, a}, {"b", {1}, b}}),
            WeightsDigest({{"b", {1}, b}, {"a", {1}, a}}));
}

TEST(WeightsDigestTest, NameShapeAndEveryBitMatter) {
  const std::vector<float> zeros = {0.0f, 0.0f};
  const std::vector<float> negative_zero = {0.0f, -0.0f};
  const std::string digest = WeightsDigest({{"w", {2}, zeros}});
  EXPECT_NE(WeightsDigest({{"v", {2}, zeros}}), digest);
  EXPECT_NE(WeightsDigest({{"w", {1, 2}, zeros}}), digest);
  EXPECT_NE(WeightsDigest({{"w", {2}, negative_zero}}), digest);
}

}  // namespace
}  // namespace regard
