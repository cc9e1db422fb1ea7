#include "data/labelled_tokens_source.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/labelled_tokens.pb.h"
#include "data/made_words.h"
#include "options/config_problems.h"

namespace regard {

namespace {

// A sequence of random numbers, drawn one after another.
class Draws {
 public:
  Draws(uint64_t seed, const char* source, const char* split)
      : random_(seed, absl::StrCat("data/", source, "/", split)) {}

  int32_t UniformInt(int64_t bound) {
    return static_cast<int32_t>(
        random_.UniformIntAt(index_++, static_cast<uint64_t>(bound)));
  }
  double Uniform() { return random_.UniformAt(index_++); }

 private:
  const RandomStream random_;
  uint64_t index_ = 0;
};

class AssociativeRecallSource
    : public WithOptions<DataSource<LabelledTokenSplits>,
                         AssociativeRecallConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() > before) return;
    problems.RequireInRange("pairs", options.pairs(), 1,
                            options.vocabulary() / 2 - 1);
    problems.RequireInRange("length", options.length(), 4.0 * options.pairs(),
                            65536);
    CheckWordCount(1.0 * options.length() *
                       (1.0 * options.train() + options.dev() + options.test()),
                   "train", problems);
  }

  absl::StatusOr<LabelledTokenSplits> Load(
      const DataRequest& request) const override {
    return LabelledTokenSplits{options_.vocabulary(),
                               Make(request.seed, "train", options_.train()),
                               Make(request.seed, "dev", options_.dev()),
                               Make(request.seed, "test", options_.test())};
  }

 private:
  std::vector<LabelledSequence> Make(uint64_t seed, const char* split,
                                     int count) const {
    Draws draws(seed, "associative_recall", split);
    const auto pairs = static_cast<size_t>(options_.pairs());
    const auto length = static_cast<size_t>(options_.length());
    const int32_t first_value = options_.vocabulary() / 2;
    std::vector<int32_t> keys(static_cast<size_t>(first_value - 1));
    std::iota(keys.begin(), keys.end(), 1);
    std::vector<int32_t> values(
        static_cast<size_t>(options_.vocabulary() - first_value));
    std::iota(values.begin(), values.end(), first_value);
    // Moves `pairs` random elements to the beginning.
    const auto shuffle = [&](std::vector<int32_t>& all) {
      for (size_t i = 0; i < pairs; ++i) {
        std::swap(all[i], all[i + static_cast<size_t>(draws.UniformInt(
                                      static_cast<int64_t>(all.size() - i)))]);
      }
    };
    // The probabilities of positions d = 1, 2, ..., up to a common factor.
    std::vector<double> weights((length - 2 * pairs) / 2);
    for (size_t d = 0; d < weights.size(); ++d) {
      weights[d] =
          std::pow(static_cast<double>(d + 1), options_.exponent() - 1);
    }
    const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<LabelledSequence> sequences(static_cast<size_t>(count));
    for (LabelledSequence& sequence : sequences) {
      for (size_t i = 0; i < length; ++i) {
        sequence.tokens.push_back(draws.UniformInt(options_.vocabulary()));
      }
      sequence.labels.assign(length, kNoLabel);
      shuffle(keys);
      shuffle(values);
      std::vector<bool> taken(weights.size(), false);
      double left = whole;
      for (size_t i = 0; i < pairs; ++i) {
        sequence.tokens[2 * i] = keys[i];
        sequence.tokens[2 * i + 1] = values[i];
        const size_t place = Draw(weights, taken, left * draws.Uniform());
        taken[place] = true;
        left -= weights[place];
        const size_t at = 2 * (pairs + place);
        sequence.tokens[at] = keys[i];
        sequence.labels[at] = values[i];
      }
    }
    return sequences;
  }

  // Sums up the weights of the free positions in order, and returns the
  // position at which the total exceeds `sum`. If rounding errors prevent this,
  // returns the last free position.
  static size_t Draw(const std::vector<double>& weights,
                     const std::vector<bool>& taken, double sum) {
    size_t place = 0;
    for (size_t d = 0; d < weights.size(); ++d) {
      if (taken[d]) continue;
      place = d;
      sum -= weights[d];
      if (sum < 0) break;
    }
    return place;
  }
};

class ParitySource
    : public WithOptions<DataSource<LabelledTokenSplits>, ParityConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() > before) return;
    problems.RequireInRange("max_length", options.max_length(),
                            options.min_length(), 1e4);
    problems.RequireInRange("max_test_length", options.max_test_length(),
                            options.min_test_length(), 1e4);
    CheckWordCount(
        (1.0 * options.train() + options.dev()) * (1.0 + options.max_length()) +
            1.0 * options.test() * (1.0 + options.max_test_length()),
        "train", problems);
  }

  absl::StatusOr<LabelledTokenSplits> Load(
      const DataRequest& request) const override {
    const auto make = [&](const char* split, int count, int least, int most,
                          bool every_position) {
      return Make(Draws(request.seed, "parity", split), count, least, most,
                  every_position);
    };
    return LabelledTokenSplits{
        3,
        make("train", options_.train(), options_.min_length(),
             options_.max_length(), options_.every_position()),
        make("dev", options_.dev(), options_.min_length(),
             options_.max_length(), false),
        make("test", options_.test(), options_.min_test_length(),
             options_.max_test_length(), false)};
  }

 private:
  static std::vector<LabelledSequence> Make(Draws draws, int count, int least,
                                            int most, bool every_position) {
    std::vector<LabelledSequence> sequences(static_cast<size_t>(count));
    for (LabelledSequence& sequence : sequences) {
      sequence = {{2}, {kNoLabel}};
      const int length = least + draws.UniformInt(most - least + 1);
      int32_t odd = 0;
      for (int i = 0; i < length; ++i) {
        sequence.tokens.push_back(draws.UniformInt(2));
        odd ^= sequence.tokens.back();
        const bool labelled = every_position || i + 1 == length;
        sequence.labels.push_back(labelled ? odd : kNoLabel);
      }
    }
    return sequences;
  }
};

}  // namespace

REGARD_DATA_SOURCES(LabelledTokensSource) {
  sources.Add<AssociativeRecallSource>(
      "pairs of keys and values, of which a key asks for its value again");
  sources.Add<ParitySource>("bits, and whether the number of ones is odd");
}

}  // namespace regard
