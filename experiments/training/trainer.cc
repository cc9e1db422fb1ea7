#include "experiments/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "autodiff/fault_finder.h"
#include "autodiff/profile.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/evaluation.h"
#include "nn/scoped_hook.h"
#include "nn/weights.h"
#include "optimization/interventions/gathered_statistics.h"
#include "optimization/ranks/agreement.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// Returns sum / count, or `sum` if `count` is 0.
double Ratio(double sum, int64_t count) {
  return sum / static_cast<double>(std::max<int64_t>(count, 1));
}

// Returns the time of a monotonic clock, for the time limit.
absl::Time Now() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

bool Pads(const Model<float>& model) {
  return model.num_examples() > 0 && model.Lengths(0) != SequenceLengths();
}

WeightSelectionOptions SelectionOf(const Training& training,
                                   absl::Span<const MetricInfo> metrics) {
  WeightSelectionOptions options = {.average = training.average(),
                                    .ema_decay = training.ema_decay()};
  if (!training.has_early_stopping()) return options;
  const EarlyStopping& stopping = training.early_stopping();
  const MetricInfo* const info = FindMetric(metrics, stopping.metric());
  options.metric = stopping.metric();
  options.higher_is_better = info != nullptr && info->better == Better::kHigher;
  options.min_gain = stopping.min_gain();
  options.patience = stopping.patience();
  return options;
}

}  // namespace

std::vector<MetricInfo> TrainerMetrics(const Model<float>& model) {
  std::vector<MetricInfo> metrics = {
      {"learning_rate", "", "of the last optimizer step"},
      {"gradient_norm", "",
       "Euclidean norm of the gradient of the last optimizer step, before "
       "clipping",
       Better::kNeither, /*logarithmic=*/true}};
  if (Pads(model)) {
    metrics.push_back({"padding_share", "",
                       "fraction of the positions in training batches that are "
                       "padding",
                       Better::kLower});
  }
  return metrics;
}

struct Trainer::Worker {
  Worker(const ParameterStore<float>& parameters, size_t terms)
      : forward(tape, parameters, nullptr), sums(terms), seeds(terms) {}

  Tape<float> tape;
  Forward<float> forward;
  std::vector<Var<float>> sums;
  std::vector<double> seeds;
  TapeProfile profile;
};

Trainer::Trainer(const Experiment& config, Task& task, const Plugins& plugins,
                 const TrainerOptions& options)
    : config_(config),
      task_(task),
      model_(task.model()),
      options_(options),
      plan_(config, model_),
      pool_(std::min(options.threads, config.num_shards())),
      reducer_(model_.parameters(), config.num_shards(),
               config.optimizer().accumulate_batches(), pool_, options.ranks),
      optimizer_(
          plugins.optimizers.Create(config.optimizer(), model_.parameters())),
      schedule_(plugins.schedules.Create(
          config.optimizer().schedule(),
          {.learning_rate = config.optimizer().learning_rate(),
           .total_updates = total_steps()})),
      selection_(SelectionOf(config.training(), task.metrics())),
      denominators_(model_.loss_terms().size()),
      shard_sums_(static_cast<size_t>(config.num_shards()) *
                  model_.loss_terms().size()) {
  // Sets every field, because a run without optimizer steps writes them, too.
  state_.set_step(0);
  state_.set_finished(false);
  state_.set_learning_rate(0);
  state_.set_gradient_norm(0);
  ClearSums();
  const SiteRequestsView requests = {config.intervene(), config.probe()};
  const int hooks = requests.empty() ? 0 : config.num_shards();
  for (int i = 0; i < hooks; ++i) {
    hooks_.push_back(
        std::make_unique<ConfiguredHook<float>>(requests, config.seed()));
  }
  for (int i = 0; i < reducer_.num_workers(); ++i) {
    workers_.push_back(std::make_unique<Worker>(model_.parameters(),
                                                model_.loss_terms().size()));
    if (options.profile) {
      workers_.back()->tape.set_observer(&workers_.back()->profile);
    }
  }
}

Trainer::~Trainer() = default;

int64_t Trainer::EpochOfStep() const {
  const int64_t updates = plan_.updates_per_epoch();
  return updates == 0 ? 0 : (step() + updates - 1) / updates;
}

absl::Span<const int64_t> Trainer::ShardOf(absl::Span<const int64_t> batch,
                                           int shard) const {
  const auto size = static_cast<int64_t>(batch.size());
  const int64_t shards = reducer_.num_shards();
  const int64_t begin = size * shard / shards;
  const int64_t end = size * (shard + 1) / shards;
  return batch.subspan(static_cast<size_t>(begin),
                       static_cast<size_t>(end - begin));
}

// Counts per shard, because each shard is padded to its own longest sequences.
void Trainer::CountPadding(absl::Span<const int64_t> batch) {
  for (int shard = 0; shard < reducer_.num_shards(); ++shard) {
    const absl::Span<const int64_t> examples = ShardOf(batch, shard);
    SequenceLengths longest = {};
    SequenceLengths sum = {};
    for (const int64_t example : examples) {
      const SequenceLengths lengths = model_.Lengths(example);
      for (size_t i = 0; i < lengths.size(); ++i) {
        longest[i] = std::max(longest[i], lengths[i]);
        sum[i] += lengths[i];
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      const int64_t all = longest[i] * static_cast<int64_t>(examples.size());
      state_.set_positions(state_.positions() + all);
      state_.set_padding(state_.padding() + all - sum[i]);
    }
  }
}

void Trainer::ComputeShard(absl::Span<const int64_t> batch, int shard,
                           Worker& worker, GradientSlab<float>& gradients) {
  const absl::Span<const int64_t> examples = ShardOf(batch, shard);
  const absl::Span<double> sums =
      absl::MakeSpan(shard_sums_)
          .subspan(shard * worker.sums.size(), worker.sums.size());
  worker.forward.set_gradients(&gradients);
  worker.forward.BeginStep();
  worker.tape.set_training(true);
  worker.tape.set_random({config_.seed(), step(), examples});
  if (!hooks_.empty()) {
    worker.forward.set_hook(hooks_[shard]->BeginUpdate(step()));
  }
  Hook<float>* const hook =
      options_.hook ? options_.hook(step(), shard) : nullptr;
  std::optional<ScopedExtraHook<float>> scoped;
  if (hook != nullptr) scoped.emplace(worker.forward, hook);
  if (examples.empty()) {
    std::fill(sums.begin(), sums.end(), 0.0);
    worker.forward.Backward({}, {});
    return;
  }
  model_.Loss(worker.forward, examples, denominators_,
              absl::MakeSpan(worker.sums));
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<double>(worker.sums[i].item());
    worker.seeds[i] = model_.loss_terms()[i].weight / denominators_[i];
  }
  worker.forward.Backward(worker.sums, worker.seeds);
}

// Repeats on this thread the optimizer step that failed, and checks every value
// and every gradient.
absl::Status Trainer::ExplainFault(
    absl::Span<const absl::Span<const int64_t>> batches) {
  Worker& worker = *workers_[0];
  GradientSlab<float> gradients(model_.parameters());
  FaultFinder<float> finder(worker.tape);
  const size_t parts = batches.size();
  for (size_t part = 0; part < parts; ++part) {
    for (int shard = 0; shard < reducer_.num_shards(); ++shard) {
      ComputeShard(batches[part], shard, worker, gradients);
      if (finder.fault().empty()) continue;
      std::string where = absl::StrCat("step ", step() + 1);
      if (parts > 1) absl::StrAppend(&where, ", batch ", part);
      return absl::InternalError(
          absl::StrCat(where, ", shard ", shard, ": ", finder.fault()));
    }
  }
  return absl::InternalError(absl::StrCat(
      "step ", step() + 1,
      ": every value and every gradient is finite, but the loss or the "
      "gradient's norm is not: a sum or a square overflows"));
}

void Trainer::GatherLossSumsAndStatistics() {
  if (options_.ranks == nullptr) {
    for (const auto& hook : hooks_) hook->TakeStatistics(&statistics_);
    return;
  }
  GatherShards(*options_.ranks, reducer_.num_shards(),
               absl::MakeSpan(shard_sums_));
  if (!hooks_.empty()) {
    regard::TakeStatistics(hooks_, *options_.ranks, &statistics_);
  }
}

absl::Status Trainer::Update() {
  model_.BeginEpoch(step() / plan_.updates_per_epoch());
  const absl::Span<const absl::Span<const int64_t>> batches =
      plan_.BatchesOf(step());
  examples_.clear();
  for (const absl::Span<const int64_t> batch : batches) {
    examples_.insert(examples_.end(), batch.begin(), batch.end());
    CountPadding(batch);
  }
  model_.Denominators(examples_, absl::MakeSpan(denominators_));
  double loss = 0;
  for (const absl::Span<const int64_t> batch : batches) {
    reducer_.AddBatch(
        [&](int worker, int shard, GradientSlab<float>& gradients) {
          ComputeShard(batch, shard, *workers_[worker], gradients);
        });
    GatherLossSumsAndStatistics();
    for (size_t term = 0; term < denominators_.size(); ++term) {
      double sum = 0;
      for (size_t i = term; i < shard_sums_.size(); i += denominators_.size()) {
        sum += shard_sums_[i];
      }
      (*state_.mutable_term_sums())[static_cast<int>(term)] += sum;
      if (term == 0) loss += sum;
    }
    if (!std::isfinite(loss)) return ExplainFault(batches);
  }
  const double learning_rate =
      schedule_->LearningRate(optimizer_->updates() + 1);
  const double gradient_norm = reducer_.gradient_norm();
  if (!std::isfinite(gradient_norm)) return ExplainFault(batches);
  optimizer_->Update({.learning_rate = learning_rate,
                      .clip_factor = ClipFactor(
                          gradient_norm, config_.optimizer().clip_norm()),
                      .gradient = reducer_.gradient(),
                      .chunks = reducer_.own_chunks()},
                     pool_);
  reducer_.Gather(model_.parameters().values());
  selection_.UpdateEma(model_.parameters().values(), pool_);
  const int64_t work = model_.CountWork(examples_);
  for (size_t term = 0; term < denominators_.size(); ++term) {
    (*state_.mutable_term_counts())[static_cast<int>(term)] +=
        model_.CountTermElements(term, examples_);
  }
  state_.set_step(step() + 1);
  records_of_step_ = 0;
  state_.set_learning_rate(learning_rate);
  state_.set_gradient_norm(gradient_norm);
  callbacks_.updated({.step = step(),
                      .loss = Ratio(loss, work),
                      .work = work,
                      .work_unit = model_.work_unit(),
                      .learning_rate = learning_rate,
                      .gradient_norm = gradient_norm});
  return absl::OkStatus();
}

absl::Status Trainer::RecordMetrics(std::map<std::string, double> metrics) {
  for (const auto& [name, value] : metrics) metrics_[name] = value;
  MetricsRecord record;
  record.step = step();
  record.epoch = EpochOfStep();
  record.metrics = std::move(metrics);
  if (!options_.omit_times) {
    record.seconds = absl::ToDoubleSeconds(Now() - start_);
  }
  ++records_of_step_;
  return callbacks_.recorded(record);
}

void Trainer::ClearSums() {
  const auto terms = static_cast<int>(denominators_.size());
  state_.clear_term_sums();
  state_.clear_term_counts();
  state_.mutable_term_sums()->Resize(terms, 0);
  state_.mutable_term_counts()->Resize(terms, 0);
  state_.set_positions(0);
  state_.set_padding(0);
}

std::map<std::string, double> Trainer::TakeTrainingMetrics() {
  std::map<std::string, double> metrics = {
      {"train/learning_rate", state_.learning_rate()},
      {"train/gradient_norm", state_.gradient_norm()}};
  for (int i = 0; i < state_.term_sums_size(); ++i) {
    metrics[absl::StrCat("train/", model_.loss_terms()[i].name)] =
        Ratio(state_.term_sums(i), state_.term_counts(i));
  }
  if (Pads(model_)) {
    metrics["train/padding_share"] =
        Ratio(static_cast<double>(state_.padding()), state_.positions());
  }
  ClearSums();
  metrics.merge(TakeStatistics());
  return metrics;
}

std::map<std::string, double> Trainer::TakeStatistics() {
  std::map<std::string, double> metrics;
  for (const auto& [name, sum] : statistics_) metrics[name] = sum.Value();
  statistics_.clear();
  return metrics;
}

void Trainer::SetEvaluationHook(Forward<float>& forward) const {
  if (!hooks_.empty()) {
    forward.set_hook(hooks_[0]->BeginEvaluation(step()));
  }
}

absl::Status Trainer::Evaluate(bool final) {
  // Evaluates the moving average of the weights, if there is one. At the end,
  // the model already has the chosen weights.
  const absl::Span<float> ema =
      finished() ? absl::Span<float>() : selection_.ema();
  const auto swap = [&] {
    std::swap_ranges(ema.begin(), ema.end(),
                     model_.parameters().values().begin());
  };
  swap();
  const absl::Cleanup swap_back = swap;
  const InferenceThreads help(pool_);
  Tape<float> tape;
  Forward<float> forward(tape, model_.parameters(), nullptr);
  SetEvaluationHook(forward);
  // The last step must have one record. If the training split is evaluated, the
  // result replaces the mean of the loss since the last record.
  EvaluationResults evaluation;
  auto& [metrics, sets] = evaluation;
  const bool trained = std::ranges::any_of(state_.term_counts(),
                                           [](int64_t n) { return n > 0; });
  if (final && trained) metrics = TakeTrainingMetrics();
  if (final) model_.BeginEpoch(std::nullopt);
  for (const Split split : {Split::kTrain, Split::kDev, Split::kTest}) {
    if (split == Split::kDev || final) {
      EvaluateSplit(task_, forward, split, options_.ranks, &evaluation);
    }
  }
  for (const auto& watched : {schedule_->metric(), selection_.metric()}) {
    if (!watched.empty() && task_.HasDevMetrics() &&
        metrics.count(watched) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: ", watched,
          ", which the schedule or early stopping monitors, was not measured"));
    }
  }
  const auto observed = metrics.find(schedule_->metric());
  if (observed != metrics.end()) schedule_->Observe(observed->second);
  if (!finished()) {
    selection_.Observe(step(), metrics, model_.parameters().values());
    evaluated_step_ = step();
  }
  if (!metrics.empty()) REGARD_RETURN_IF_ERROR(RecordMetrics(metrics));
  return callbacks_.evaluated({.step = step(),
                               .epoch = EpochOfStep(),
                               .final = final,
                               .metrics = metrics,
                               .sets = sets,
                               .forward = forward,
                               .gradient = reducer_.AllGatherGradient()});
}

std::string Trainer::Profile() const {
  if (!options_.profile) return "";
  std::vector<const TapeProfile*> profiles;
  for (const auto& worker : workers_) profiles.push_back(&worker->profile);
  return ProfileText(profiles, absl::ToDoubleSeconds(update_time_),
                     pool_.threads());
}

void Trainer::ChooseWeights() {
  const auto set_weights = [&](absl::Span<const float> weights) {
    std::copy(weights.begin(), weights.end(),
              model_.parameters().values().begin());
  };
  const absl::Span<const float> last = model_.parameters().values();
  last_weights_.assign(last.begin(), last.end());
  const std::vector<float> mean = selection_.AverageSnapshots();
  if (!mean.empty()) {
    set_weights(mean);
    if (selection_.metric().empty()) return;
    const InferenceThreads help(pool_);
    Tape<float> tape;
    Forward<float> forward(tape, model_.parameters(), nullptr);
    SetEvaluationHook(forward);
    EvaluationResults evaluation;
    EvaluateSplit(task_, forward, Split::kDev, options_.ranks, &evaluation);
    const auto mean_value = evaluation.metrics.find(selection_.metric());
    if (mean_value != evaluation.metrics.end() &&
        selection_.IsGain(mean_value->second, 0)) {
      return;
    }
  }
  // If the metric was NaN in every evaluation, no weights were chosen.
  set_weights(selection_.chosen());
}

absl::Status Trainer::Finish() {
  REGARD_RETURN_IF_ERROR(SaveBeforeFinalEvaluation());
  REGARD_RETURN_IF_ERROR(CheckWeights());
  if (selection_.active()) {
    // Early stopping and the time limit have evaluated the last step already.
    if (selection_.observes() && !selection_.exhausted() &&
        evaluated_step_ != step()) {
      REGARD_RETURN_IF_ERROR(Evaluate(/*final=*/false));
    }
    ChooseWeights();
  }
  state_.set_finished(true);
  REGARD_RETURN_IF_ERROR(Evaluate(/*final=*/true));
  return Save();
}

// Whether training ends at this step, before the planned last step.
bool Trainer::ShouldEndEarly() const {
  const double limit = config_.training().max_minutes();
  return selection_.exhausted() ||
         (limit > 0 && BroadcastFlag(options_.ranks,
                                     Now() - start_ >= absl::Minutes(limit)));
}

int Trainer::StopSignal() const {
  const int signal =
      options_.stop_signal == nullptr ? 0 : options_.stop_signal->load();
  return MaxOverRanks(options_.ranks, signal);
}

std::string Trainer::LastWeightsDigest() const {
  return WeightsDigest(SlabViews(model_.parameters(), last_weights(), ""));
}

absl::StatusOr<int> Trainer::Run(TrainingCallbacks callbacks) {
  callbacks_ = std::move(callbacks);
  start_ = Now();
  const Training& training = config_.training();
  const auto due = [&](int64_t every) {
    return step() % (every == 0 ? plan_.updates_per_epoch() : every) == 0;
  };
  // A finished run has saved its last checkpoint after the last record.
  if (finished()) return 0;
  bool over = state_.has_records() || ShouldEndEarly();
  while (step() < total_steps() && !over) {
    if (const int signal = StopSignal(); signal != 0) {
      REGARD_RETURN_IF_ERROR(Save());
      return signal;
    }
    const absl::Time before = Now();
    REGARD_RETURN_IF_ERROR(Update());
    update_time_ += Now() - before;
    if (step() == total_steps()) break;
    if (due(training.log_every())) {
      REGARD_RETURN_IF_ERROR(RecordMetrics(TakeTrainingMetrics()));
    } else if (!statistics_.empty()) {
      REGARD_RETURN_IF_ERROR(RecordMetrics(TakeStatistics()));
    }
    if (training.evaluate_every() > 0 &&
        due(training.evaluate_every() * plan_.updates_per_epoch())) {
      REGARD_RETURN_IF_ERROR(CheckWeights());
      REGARD_RETURN_IF_ERROR(Evaluate(/*final=*/false));
    }
    over = ShouldEndEarly();
    // Does not save a checkpoint before the last record of training, because a
    // run resumed from it would write this record twice.
    if (!over && due(training.checkpoint_every())) {
      REGARD_RETURN_IF_ERROR(Save());
    }
  }
  REGARD_RETURN_IF_ERROR(Finish());
  return 0;
}

}  // namespace regard
