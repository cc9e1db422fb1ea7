// Runs a layer in a test, and checks its gradients by finite differences.
#ifndef ATTENTION_TRANSFORMER_TESTING_LAYER_CHECK_H_
#define ATTENTION_TRANSFORMER_TESTING_LAYER_CHECK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

inline AttentionRegistry BuiltInScorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// Returns `count` values, uniform in -bound .. bound.
template <typename T>
std::vector<T> RandomValues(int64_t count, uint64_t seed, double bound = 1) {
  const RandomStream random(seed, "values");
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    const double uniform = random.UniformAt(static_cast<uint64_t>(i));
    values.push_back(static_cast<T>(bound * (2 * uniform - 1)));
  }
  return values;
}

template <typename T>
std::vector<T> ValuesOf(Var<T> x) {
  return {x.span().begin(), x.span().end()};
}

// A parameter store and the steps of a tape. The layer must be registered in
// store() before Begin().
template <typename T>
class LayerTestHarness {
 public:
  ParameterStore<T>& store() { return store_; }
  Tape<T>& tape() { return tape_; }

  // Begins a step. The first call finalizes the store and sets the parameters
  // to random values, large enough that every parameter affects the output.
  Forward<T>& Begin() {
    if (!forward_.has_value()) {
      if (!store_.finalized()) {
        store_.Finalize(3);
        const std::vector<T> values =
            RandomValues<T>(store_.slab_size(), 5, 0.8);
        for (const ParameterInfo& info : store_.parameters()) {
          std::copy_n(values.begin() + info.offset, info.size(),
                      store_.values().begin() + info.offset);
        }
      }
      gradients_.emplace(store_);
      forward_.emplace(tape_, store_, &*gradients_);
    }
    forward_->BeginStep();
    return *forward_;
  }

  // Returns an input with random values, which only depend on the shape and on
  // `i`. The tape keeps its gradient.
  Var<T> Input(const Shape& shape, uint64_t i = 0) {
    return tape_.Input(shape, RandomValues<T>(shape.size(), 100 + i));
  }

  // Runs the backward pass from sum(random * y).
  void BackwardFrom(Var<T> y) {
    const std::vector<T> random = RandomValues<T>(y.size(), 9);
    y.grad_ref().AddEach([&](int64_t i) { return random[i]; });
    forward_->Backward({}, {});
  }

  absl::Span<const T> gradients() const { return gradients_->values(); }
  absl::Span<T> value(const std::string& name) {
    return store_.value(*store_.FindByName(name));
  }
  absl::Span<const T> gradient(const std::string& name) const {
    return store_.Segment(gradients(), *store_.FindByName(name));
  }

 private:
  ParameterStore<T> store_;
  Tape<T> tape_;
  std::optional<GradientSlab<T>> gradients_;
  std::optional<Forward<T>> forward_;
};

// Compares the gradients of sum(random * f(forward, inputs)) with four-point
// differences along random directions. Checks each parameter, each input, and
// all parameters and inputs together.
template <typename F>
void CheckLayerGradients(LayerTestHarness<double>& run,
                         const std::vector<Shape>& shapes, F f) {
  run.Begin();
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> gradients;
  for (size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(RandomValues<double>(shapes[i].size(), 100 + i));
    gradients.emplace_back(values[i].size(), 0);
  }
  const auto compute = [&] {
    Forward<double>& forward = run.Begin();
    std::vector<Var<double>> inputs;
    for (size_t i = 0; i < shapes.size(); ++i) {
      inputs.push_back(forward.tape().Leaf(values[i].data(),
                                           gradients[i].data(), shapes[i]));
    }
    return f(forward, absl::MakeConstSpan(inputs));
  };
  const auto project = [&] {
    const Var<double> y = compute();
    const std::vector<double> random = RandomValues<double>(y.size(), 9);
    double sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += random[i] * y.data()[i];
    return sum;
  };
  run.BackwardFrom(compute());
  // An array that is varied: the segment of one parameter, or one input.
  struct Part {
    std::string name;
    absl::Span<double> value;
    std::vector<double> gradient;
  };
  std::vector<Part> parts;
  for (const ParameterInfo& info : run.store().parameters()) {
    const auto gradient = run.gradient(info.name);
    parts.push_back(
        {info.name, run.value(info.name), {gradient.begin(), gradient.end()}});
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    parts.push_back({"input " + std::to_string(i), absl::MakeSpan(values[i]),
                     gradients[i]});
  }
  for (size_t only = 0; only <= parts.size(); ++only) {
    std::vector<std::vector<double>> start;
    std::vector<std::vector<double>> directions;
    double expected = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      const auto size = static_cast<int64_t>(part.value.size());
      start.emplace_back(part.value.begin(), part.value.end());
      directions.push_back(only == p || only == parts.size()
                               ? RandomValues<double>(size, 1000 + p)
                               : std::vector<double>(part.value.size(), 0));
      for (size_t i = 0; i < part.value.size(); ++i) {
        expected += directions[p][i] * part.gradient[i];
      }
    }
    const auto at = [&](double step) {
      run.store().values();  // Discards packed copies of the parameters.
      for (size_t p = 0; p < parts.size(); ++p) {
        for (size_t i = 0; i < start[p].size(); ++i) {
          parts[p].value[i] = start[p][i] + step * directions[p][i];
        }
      }
      return project();
    };
    constexpr double kStep = 1e-4;
    const double difference =
        (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) /
        (12 * kStep);
    at(0);
    EXPECT_NEAR(expected, difference, 1e-8 * (1 + std::abs(difference)))
        << (only < parts.size() ? parts[only].name : "all");
  }
}

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_TESTING_LAYER_CHECK_H_
