// Sorts by attention. The query of rank r attends to the numbers of a list, and
// must find the r-th number in ascending order.
#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/attend.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/random.h"
#include "experiments/tasks/plugins.h"
#include "nn/layers/linear.h"
#include "sorting.pb.h"

namespace lab {

using namespace regard;  // NOLINT: an example
using Lists = std::vector<std::vector<float>>;

struct NumberLists {
  static constexpr char kName[] = "lists of numbers";
  Lists train, test;
};

class RandomNumbersSource : public DataSource<NumberLists> {
 public:
  using Options = RandomNumbers;
  explicit RandomNumbersSource(const Options& options) : options_(options) {}
  absl::StatusOr<NumberLists> Load(const DataRequest& request) const override {
    return NumberLists{Draw({request.seed, "train"}, options_.train()),
                       Draw({request.seed, "test"}, options_.test())};
  }

 private:
  Lists Draw(const RandomStream& stream, int count) const {
    Lists lists(count, std::vector<float>(options_.length()));
    uint64_t i = 0;
    for (auto& list : lists) {
      for (float& number : list) number = stream.UniformAt(i++);
    }
    return lists;
  }
  const Options options_;
};

class SortingTask : public Task, public Model<float> {
 public:
  using Options = Sorting;
  using Data = NumberLists;
  static constexpr const char* kModelFields[] = {"attention"};

  static std::vector<MetricInfo> Metrics() {
    return {{"loss", "", "squared error", Better::kLower},
            {"accuracy", "", "fraction of ranks that find their number",
             Better::kHigher}};
  }
  static void ValidateModelFields(const TaskContext& task,
                                  ConfigProblems& problems) {
    const ConfigProblems::Scope scope(problems, "attention");
    task.scorers.Validate(task.config.model().attention(), {1, 1, 1}, problems);
  }
  SortingTask(const Options& options, Data data, const TaskContext& task)
      : Task(Metrics()),
        Model<float>(task.model_options().loss),
        data_(std::move(data)),
        features_(store_.Root().Sub("features"), 1, options.width()),
        ranks_(store_.Root().Sub("ranks"), 1, options.width()),
        attention_(task.scorers, task.config.model().attention(),
                   store_.Root().Sub("attention"),
                   {1, options.width(), options.width()}) {
    store_.Finalize(task.config.seed());
  }

  Model<float>& model() override { return *this; }
  void ValidateData(ConfigProblems& problems) const override {
    if (loss_options().label_smoothing == 0) return;
    problems.Note("loss.label_smoothing",
                  "has no effect: sorting predicts no classes");
  }
  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return std::ssize(data_.train); }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    const AttentionResult<float> found = Attend(forward, data_.train, examples);
    Var<float> sorted = forward.tape().Constant(found.context.shape());
    float* to = sorted.data();
    for (const int64_t e : examples) {
      const std::vector<float>& list = data_.train[e];
      to = std::partial_sort_copy(list.begin(), list.end(), to, to + Length());
    }
    sums[0] = Sum(Square(found.context - sorted));
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override {
    if (split != Split::kTest) return {};
    double right = 0;
    for (int64_t e = 0; e < std::ssize(data_.test); ++e) {
      const LabelledMatrix map = Map(forward, e);
      for (const CellRectangle& gold : map.gold) {
        const auto row = map.heads[0].begin() + gold.row * Length();
        right += std::max_element(row, row + Length()) == row + gold.column;
      }
    }
    return {{.totals = {{"accuracy", right / data_.test.size() / Length()}}}};
  }
  Showcase Show(Forward<float>& forward, bool) const override {
    return {.summary = "Sorts by attention.", .heat_maps = {Map(forward, 0)}};
  }

 private:
  int64_t Length() const { return std::ssize(data_.train[0]); }

  // Returns the weights [ranks, numbers] for one test list. The gold cells show
  // the true order.
  LabelledMatrix Map(Forward<float>& forward, int64_t e) const {
    forward.BeginStep();
    const Var<float> weights = Attend(forward, data_.test, {e}).weights;
    const std::vector<float>& list = data_.test[e];
    LabelledMatrix map;
    map.title = "Ranks (rows) look at numbers (columns)";
    map.heads.push_back({weights.span().begin(), weights.span().end()});
    for (int i = 0; i < Length(); ++i) {
      map.rows.push_back(absl::StrFormat("rank %d", i + 1));
      map.columns.push_back(absl::StrFormat("%.2f", list[i]));
      map.gold.push_back({0, i});
      for (const float other : list) map.gold[i].row += other < list[i];
    }
    return map;
  }

  // Returns the context [batch, 1, ranks, 1] and the weights [batch, 1, ranks,
  // numbers].
  AttentionResult<float> Attend(Forward<float>& forward, const Lists& lists,
                                absl::Span<const int64_t> examples) const {
    const int64_t batch = std::ssize(examples);
    Var<float> numbers = forward.tape().Constant({batch, 1, Length(), 1});
    Var<float> ranks = forward.tape().Constant({batch, 1, Length(), 1});
    for (int64_t i = 0; i < numbers.size(); ++i) {
      numbers.data()[i] = lists[examples[i / Length()]][i % Length()];
      ranks.data()[i] = (i % Length() + 0.5f) / Length();
    }
    AttendInputs<float> inputs;
    inputs.score.queries = ranks_(forward, ranks);
    inputs.score.keys = attention_.Prepare(
        forward, {.keys = Tanh(features_(forward, numbers))});
    inputs.values = numbers;
    return attention_.Attend(forward, inputs);
  }

  const Data data_;
  ParameterStore<float> store_;
  const LinearLayer<float> features_, ranks_;
  const AttentionLayer<float> attention_;
};

REGARD_PLUGINS(Sorting) {
  plugins.data.Add<RandomNumbersSource>("random numbers");
  plugins.tasks.Add<SortingTask>("sorts by attention");
}

}  // namespace lab
