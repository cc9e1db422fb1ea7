// Benchmark of multi-head self-attention and of state mixers, with 4 heads and
// width 64. Measures the time of a forward and backward pass on one thread, and
// the memory of the tape. With a position encoding, there are four layers.
// Cases whose names end in _rows read all row statistics of the weights.
//
// The arguments are lengths. To measure the memory of the process for one case,
// run only that case: --benchmark_filter=^additive/ and one length.
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/layer_state.h"
#include "attention/mixer_layer.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/multi_head.h"
#include "attention/scoring/bilinear.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_kit.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/text_format.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "nn/row_statistics.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int64_t kWidth = 64;

// A score as a user might write it, with plain operations: q . k minus a
// learned slope times the distance.
template <typename T>
class Sloping : public ScoringFunction<T> {
 public:
  using Options = BilinearScore;
  static constexpr bool kPositionAware = true;

  Sloping(const Options&, ParameterScope<T> scope, const ScoreWidths&)
      : slope_(scope.Add("slope", {1}, Constant(1))) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Var<T> distance =
        forward.tape().Constant({in.queries.dim(2), in.keys.dim(2)});
    for (int64_t i = 0; i < distance.size(); ++i) {
      const int64_t query = i / distance.cols();
      distance.data()[i] = static_cast<T>(
          std::abs(in.positions.Offset(query) - i % distance.cols()));
    }
    return InnerProducts(in.queries, in.keys) -
           Softplus(forward[slope_]) * distance;
  }

 private:
  Parameter<T> slope_;
};

// A hook that requests row statistics and reads one of their elements.
class RowSums : public Hook<float> {
 public:
  HookRequest Request(const std::string& site) override {
    if (!MatchesSite("*attention/weights", site)) return {};
    return {
        .rows = {.entropy = true, .top = true, .first = true, .windows = {64}}};
  }
  void OnRowStatistics(const std::string&,
                       const AttentionStatistics& rows) override {
    benchmark::DoNotOptimize(rows.entropy[rows.size() - 1]);
  }
};

// Measures the forward and backward pass of y = apply(forward, x), with the
// parameters in `store`.
template <typename Layer>
void Measure(benchmark::State& state, int64_t time,
             ParameterStore<float>& store, const Layer& apply,
             bool reads_rows = false) {
  store.Finalize(/*seed=*/1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  tape.set_training(true);
  Forward<float> forward(tape, store, &gradients);
  RowSums rows;
  if (reads_rows) forward.set_hook(&rows);
  std::vector<float> data(time * kWidth);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = std::sin(static_cast<float>(i));
  }
  for (auto unused : state) {
    forward.BeginStep();
    const Var<float> x = tape.Constant({1, time, kWidth}, data);
    const Var<float> y = apply(forward, x);
    forward.Backward({Sum(Square(y))}, {1.0});
    for (size_t i = 0; i < store.values().size(); ++i) {
      store.values()[i] -= 1e-6F * gradients.values()[i];
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["tape_MiB"] =
      static_cast<double>(tape.high_water_bytes()) / (1 << 20);
  state.counters["process_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void UpdateAttention(benchmark::State& state, const std::string& name,
                     const std::string& config, int64_t time) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  AttentionRegistry users;
  users.Add<Sloping>("q . k - softplus(b) |i - j|");
  MultiHead options;
  options.set_heads(4);
  REGARD_CHECK(google::protobuf::TextFormat::ParseFromString(
      config, options.mutable_attention()))
      << config;
  ParameterStore<float> store;
  // Layers share the angles of rotary encoding. A single layer would not show
  // this saving.
  const int count = options.attention().has_position_encoding() ? 4 : 1;
  std::vector<MultiHeadAttention<float>> layers;
  for (int i = 0; i < count; ++i) {
    layers.emplace_back(options.attention().has_bilinear() ? users : scorers,
                        options, store.Root().Sub("layers", i),
                        MultiHeadInputWidths{kWidth, kWidth, kWidth});
  }
  const auto apply = [&](Forward<float>& forward, Var<float> x) {
    for (const MultiHeadAttention<float>& layer : layers) {
      x = layer(forward, x, layer.Prepare(forward, x, x),
                {.mask = {.causal = true}});
    }
    return x;
  };
  Measure(state, time, store, apply, absl::EndsWith(name, "_rows"));
}

void UpdateMixer(benchmark::State& state, const std::string& /*name*/,
                 const std::string& config, int64_t time) {
  MixerConfig options;
  REGARD_CHECK(google::protobuf::TextFormat::ParseFromString(config, &options))
      << config;
  const AttentionRegistry registry;
  ParameterStore<float> store;
  StateSlotNames slots;
  const MixerLayer<float> layer(
      registry.mixers, options,
      {store.Root(), kWidth, SlotScope(slots, "layer")});
  Measure(state, time, store, [&](Forward<float>& forward, Var<float> x) {
    return layer(forward, x, {});
  });
}

constexpr std::pair<const char*, const char*> kCases[] = {
    {"additive", "additive {}"},
    {"additive_dropout_sparsemax",
     "additive {} dropout: 0.1 normalizer { sparsemax {} }"},
    {"additive_window", "additive {} window: 256"},
    {"user", "bilinear {}"},
    {"scaled_bilinear", "scaled_bilinear {}"},
    {"cosine", "cosine {}"},
    {"formula_slope",
     "formula { score: 'q . k / sqrt(d) - softplus(b) * abs(i - j)' }"},
    {"formula_distance_bias",
     "formula { score: 'q . k / sqrt(d) + b[i - j]' "
     "parameter { name: 'b' table { highest: 127 } } }"},
    {"scaled_dot", "scaled_dot {}"},
    {"scaled_dot_rows", "scaled_dot {}"},
    {"scaled_dot_dropout", "scaled_dot {} dropout: 0.1"},
    // At length 8,192, there are 16 blocks of 512 keys.
    {"scaled_dot_moba_8",
     "scaled_dot {} selection { moba { block_size: 512 top_k: 8 } }"},
    {"scaled_dot_moba_4",
     "scaled_dot {} selection { moba { block_size: 512 top_k: 4 } }"},
    {"scaled_dot_moba_2",
     "scaled_dot {} selection { moba { block_size: 512 top_k: 2 } }"},
    {"scaled_dot_nsa_blocks", "scaled_dot {} selection { nsa_blocks {} }"},
    {"sparsemax", "scaled_dot {} normalizer { sparsemax {} }"},
    {"sparsemax_rows", "scaled_dot {} normalizer { sparsemax {} }"},
    {"sparsemax_moba_2",
     "scaled_dot {} normalizer { sparsemax {} } "
     "selection { moba { block_size: 512 top_k: 2 } }"},
    // This case has a learned bias and is computed row by row.
    {"gaussian_relative_buckets_4_layers",
     "gaussian {} position_encoding { relative_buckets { "
     "bidirectional: false } }"},
    {"scaled_dot_alibi_4_layers",
     "scaled_dot {} position_encoding { alibi {} }"},
    {"scaled_dot_rotary_4_layers",
     "scaled_dot {} position_encoding { rotary {} }"}};

constexpr std::pair<const char*, const char*> kMixerCases[] = {
    {"linear_attention", "linear_attention { heads: 4 }"},
    {"linear_attention_fixed", "linear_attention { heads: 4 decay: FIXED }"},
    {"linear_attention_head", "linear_attention { heads: 4 decay: HEAD }"},
    {"retention", "retention { heads: 4 }"},
    {"gated_linear", "gated_linear { heads: 4 }"},
    {"mamba2", "mamba2 { heads: 4 }"},
    {"delta", "delta { heads: 4 }"},
    {"delta_net", "delta_net { heads: 4 }"},
    {"gated_delta", "gated_delta { heads: 4 }"},
    {"kda", "kda { heads: 4 }"}};

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<int64_t> lengths;
  for (int i = 1; i < argc; ++i) lengths.push_back(std::atoll(argv[i]));
  if (lengths.empty()) lengths.push_back(640);
  const auto add = [&](const auto& cases, auto update) {
    for (const auto& [name, config] : cases) {
      for (const int64_t length : lengths) {
        benchmark::RegisterBenchmark(absl::StrCat(name, "/", length).c_str(),
                                     [name = name, config = config, length,
                                      update](benchmark::State& state) {
                                       update(state, name, config, length);
                                     })
            ->Unit(benchmark::kMillisecond);
      }
    }
  };
  add(regard::kCases, regard::UpdateAttention);
  add(regard::kMixerCases, regard::UpdateMixer);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
