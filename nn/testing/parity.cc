#include "nn/testing/parity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace regard {

namespace {

// Records `difference`. The largest difference of the running test becomes a
// property in the report of the test.
void Record(double difference) {
  static const ::testing::TestInfo* test = nullptr;
  static double largest = 0;
  const ::testing::TestInfo* const running =
      ::testing::UnitTest::GetInstance()->current_test_info();
  largest = running == test ? std::max(largest, difference) : difference;
  test = running;
  ::testing::Test::RecordProperty("largest_difference", absl::StrCat(largest));
}

}  // namespace

void ExpectParity(absl::Span<const float> got, const Fixture::Array& expected,
                  absl::string_view what) {
  ASSERT_EQ(got.size(), expected.values.size()) << what;
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = expected.values[i];
    ASSERT_NEAR(got[i], want, 1e-5 * (1 + std::abs(want)))
        << what << ", element " << i;
    largest = std::max(largest, std::abs(got[i] - want) / (1 + std::abs(want)));
  }
  Record(largest);
}

absl::Span<const float> Grad(Var<float> x) {
  return absl::MakeConstSpan(x.grad_data(), static_cast<size_t>(x.size()));
}

void SetParameters(const Fixture& fixture, ParameterStore<float>* store) {
  for (const ParameterInfo& info : store->parameters()) {
    const Fixture::Array& value = fixture[absl::StrCat("value.", info.name)];
    ASSERT_EQ(value.shape, info.shape) << info.name;
    std::copy(value.values.begin(), value.values.end(),
              store->value(*store->FindByName(info.name)).begin());
  }
}

void ExpectParameterGradients(const Fixture& fixture,
                              const ParameterStore<float>& store,
                              const GradientSlab<float>& gradients) {
  for (const ParameterInfo& info : store.parameters()) {
    ExpectParity(
        store.Segment(gradients.values(), *store.FindByName(info.name)),
        fixture[absl::StrCat("grad.", info.name)], info.name);
  }
}

}  // namespace regard
