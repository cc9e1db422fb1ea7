#include "experiments/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "autodiff/tape.h"
#include "experiments/run/safetensors.h"
#include "experiments/run/weights.h"
#include "experiments/training/example_order.h"
#include "experiments/training/profile.h"
#include "experiments/training/trainer_state.pb.h"
#include "google/protobuf/text_format.h"
#include "nn/forward.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t ExamplesPerEpoch(const Experiment& config, int64_t num_examples) {
  const int64_t limit = config.training().examples_per_epoch();
  return limit == 0 ? num_examples : std::min(limit, num_examples);
}

// Batches of an update are consecutive; the last of an epoch may be smaller.
int64_t StepsPerEpoch(const Experiment& config, int64_t num_examples) {
  return CeilDivide(ExamplesPerEpoch(config, num_examples),
                    int64_t{config.training().batch_size()} *
                        config.optimizer().accumulate_batches());
}

// The named numbers, or the fields that checkpoints had before schedules named
// their own.
ScheduleState ReadScheduleState(const TrainerState& state) {
  if (!state.has_schedule_factor()) {
    return {state.schedule().begin(), state.schedule().end()};
  }
  ScheduleState schedule = {
      {"factor", state.schedule_factor()},
      {"bad_evaluations", state.schedule_bad_evaluations()}};
  if (state.has_schedule_best()) schedule["best"] = state.schedule_best();
  return schedule;
}

std::string StatePrefix(const Optimizer<float>::State& state) {
  return absl::StrCat(state.name, "/");
}

}  // namespace

std::vector<MetricInfo> TrainerMetrics() {
  return {{"learning_rate", "", "of the last update"},
          {"gradient_norm", "",
           "Euclidean norm of the last update's gradient, before clipping",
           Better::kNeither, /*logarithmic=*/true}};
}

// What one thread computes shards with.
struct Trainer::Worker {
  Worker(const ParameterStore<float>& parameters, size_t terms)
      : forward(tape, parameters, nullptr), sums(terms), seeds(terms) {}

  Tape<float> tape;
  Forward<float> forward;
  std::vector<Var<float>> sums;
  std::vector<double> seeds;
  TapeProfile profile;
};

int64_t Trainer::TotalSteps(const Experiment& config, int64_t num_examples) {
  return config.training().epochs() * StepsPerEpoch(config, num_examples);
}

Trainer::Trainer(const Experiment& config, Task& task, const Plugins& plugins,
                 std::vector<TrainingObserver*> observers,
                 const TrainerOptions& options)
    : config_(config),
      task_(task),
      model_(task.model()),
      observers_(std::move(observers)),
      options_(options),
      steps_per_epoch_(StepsPerEpoch(config, model_.num_examples())),
      total_steps_(model_.parameters().num_trainable_elements() == 0
                       ? 0
                       : TotalSteps(config, model_.num_examples())),
      pool_(std::min(options.threads, config.num_shards())),
      reducer_(model_.parameters(), config.num_shards(),
               config.optimizer().accumulate_batches(), pool_),
      optimizer_(
          plugins.optimizers.Create(config.optimizer(), model_.parameters())),
      schedule_(plugins.schedules.Create(
          config.optimizer().schedule(),
          {.learning_rate = config.optimizer().learning_rate(),
           .total_updates = total_steps_})),
      denominators_(model_.loss_terms().size()),
      shard_sums_(static_cast<size_t>(config.num_shards()) *
                  model_.loss_terms().size()),
      term_sums_(model_.loss_terms().size()) {
  FlushDenormalsToZero();
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
  return steps_per_epoch_ == 0 ? 0 : CeilDivide(step_, steps_per_epoch_);
}

// The examples of the coming update.
absl::Span<const int64_t> Trainer::BatchOfStep(int64_t step) {
  const int64_t epoch = step / steps_per_epoch_;
  if (epoch != order_epoch_) {
    ExampleOrder(config_.seed(), epoch, model_.num_examples(),
                 ExamplesPerEpoch(config_, model_.num_examples()), &order_);
    order_epoch_ = epoch;
  }
  const int64_t size = int64_t{config_.training().batch_size()} *
                       config_.optimizer().accumulate_batches();
  return absl::MakeConstSpan(order_).subspan(
      static_cast<size_t>(step % steps_per_epoch_ * size),
      static_cast<size_t>(size));
}

void Trainer::ComputeShard(absl::Span<const int64_t> batch, int shard,
                           Worker& worker, GradientSlab<float>& gradients) {
  const auto size = static_cast<int64_t>(batch.size());
  const int64_t shards = reducer_.num_shards();
  const int64_t begin = size * shard / shards;
  const int64_t end = size * (shard + 1) / shards;
  const absl::Span<const int64_t> examples = batch.subspan(
      static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  const absl::Span<double> sums =
      absl::MakeSpan(shard_sums_)
          .subspan(shard * term_sums_.size(), term_sums_.size());
  worker.forward.set_gradients(&gradients);
  worker.forward.BeginStep();
  worker.tape.set_training(true);
  worker.tape.set_random({config_.seed(), step_, examples});
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

// The examples of one of an update's batches.
absl::Span<const int64_t> Trainer::Part(absl::Span<const int64_t> examples,
                                        int64_t part) const {
  const int64_t parts = config_.optimizer().accumulate_batches();
  const auto size = static_cast<int64_t>(examples.size());
  const int64_t begin = size * part / parts;
  const int64_t end = size * (part + 1) / parts;
  return examples.subspan(static_cast<size_t>(begin),
                          static_cast<size_t>(end - begin));
}

// Computes the faulty update again, on this thread, with every value and every
// gradient checked.
absl::Status Trainer::ExplainFault(absl::Span<const int64_t> examples) {
  Worker& worker = *workers_[0];
  GradientSlab<float> gradients(model_.parameters());
  worker.tape.set_checked(true);
  const int parts = config_.optimizer().accumulate_batches();
  for (int part = 0; part < parts; ++part) {
    for (int shard = 0; shard < reducer_.num_shards(); ++shard) {
      ComputeShard(Part(examples, part), shard, worker, gradients);
      if (worker.tape.fault().empty()) continue;
      std::string where = absl::StrCat("step ", step_ + 1);
      if (parts > 1) absl::StrAppend(&where, ", batch ", part);
      return absl::InternalError(
          absl::StrCat(where, ", shard ", shard, ": ", worker.tape.fault()));
    }
  }
  return absl::InternalError(absl::StrCat(
      "step ", step_ + 1,
      ": every value and every gradient is finite, but the loss or the "
      "gradient's norm is not: a sum or a square overflows"));
}

absl::Status Trainer::Update() {
  const absl::Span<const int64_t> examples = BatchOfStep(step_);
  model_.Denominators(examples, absl::MakeSpan(denominators_));
  double loss = 0;
  for (int part = 0; part < config_.optimizer().accumulate_batches(); ++part) {
    const absl::Span<const int64_t> batch = Part(examples, part);
    reducer_.AddBatch(
        [&](int worker, int shard, GradientSlab<float>& gradients) {
          ComputeShard(batch, shard, *workers_[worker], gradients);
        });
    for (size_t term = 0; term < term_sums_.size(); ++term) {
      double sum = 0;
      for (size_t i = term; i < shard_sums_.size(); i += term_sums_.size()) {
        sum += shard_sums_[i];
      }
      term_sums_[term] += sum;
      if (term == 0) loss += sum;
    }
    if (!std::isfinite(loss)) return ExplainFault(examples);
  }
  learning_rate_ = schedule_->LearningRate(optimizer_->updates() + 1);
  gradient_norm_ = reducer_.gradient_norm();
  if (!std::isfinite(gradient_norm_)) return ExplainFault(examples);
  optimizer_->Update({.learning_rate = learning_rate_,
                      .clip_factor = ClipFactor(
                          gradient_norm_, config_.optimizer().clip_norm()),
                      .gradient = reducer_.gradient()},
                     pool_);
  const int64_t work = model_.CountWork(examples);
  work_ += work;
  ++step_;
  const StepProgress update = {
      .step = step_,
      .loss = loss / static_cast<double>(std::max<int64_t>(work, 1)),
      .tokens = work,
      .learning_rate = learning_rate_,
      .gradient_norm = gradient_norm_};
  for (TrainingObserver* observer : observers_) observer->Updated(update);
  return absl::OkStatus();
}

absl::Status Trainer::Log(std::map<std::string, double> metrics) {
  for (const auto& [name, value] : metrics) last_metrics_[name] = value;
  MetricsRecord record;
  record.step = step_;
  record.epoch = EpochOfStep();
  record.metrics = std::move(metrics);
  if (options_.record_times) {
    record.seconds =
        absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) - start_seconds_;
  }
  for (TrainingObserver* observer : observers_) {
    REGARD_RETURN_IF_ERROR(observer->Recorded(record));
  }
  return absl::OkStatus();
}

std::map<std::string, double> Trainer::TakeTrainingMetrics() {
  std::map<std::string, double> metrics = {
      {"train/learning_rate", learning_rate_},
      {"train/gradient_norm", gradient_norm_}};
  for (size_t i = 0; i < term_sums_.size(); ++i) {
    metrics[absl::StrCat("train/", model_.loss_terms()[i].name)] =
        term_sums_[i] / static_cast<double>(std::max<int64_t>(work_, 1));
  }
  std::fill(term_sums_.begin(), term_sums_.end(), 0);
  work_ = 0;
  return metrics;
}

absl::Status Trainer::Evaluate(bool final) {
  Tape<float> tape;
  Forward<float> forward(tape, model_.parameters(), nullptr);
  // One record of the last step: what an evaluation of the training split
  // measures takes the place of the mean since the last record.
  std::map<std::string, double> metrics;
  if (final && total_steps_ > 0) metrics = TakeTrainingMetrics();
  const std::pair<Split, const char*> splits[] = {{Split::kTrain, "train/"},
                                                  {Split::kDev, "dev/"},
                                                  {Split::kTest, "test/"}};
  for (const auto& [split, prefix] : splits) {
    if (split != Split::kDev && !final) continue;
    std::vector<Measurement> measurements;
    model_.Evaluate(forward, split, &measurements);
    for (const Measurement& measurement : measurements) {
      REGARD_CHECK(FindMetric(task_.metrics(), measurement.name) != nullptr)
          << measurement.name << " is not among the task's metrics";
      metrics[absl::StrCat(prefix, measurement.name)] = measurement.value;
    }
  }
  const auto observed = metrics.find(schedule_->metric());
  if (observed != metrics.end()) schedule_->Observe(observed->second);
  if (!metrics.empty()) REGARD_RETURN_IF_ERROR(Log(metrics));
  const EvaluatedModel evaluated = {.step = step_,
                                    .epoch = EpochOfStep(),
                                    .final = final,
                                    .metrics = metrics,
                                    .forward = forward,
                                    .gradient = reducer_.gradient()};
  for (TrainingObserver* observer : observers_) {
    REGARD_RETURN_IF_ERROR(observer->Evaluated(evaluated));
  }
  return absl::OkStatus();
}

absl::Status Trainer::Save() {
  TrainerState state;
  state.set_step(step_);
  state.mutable_term_sums()->Assign(term_sums_.begin(), term_sums_.end());
  state.set_work(work_);
  for (const auto& [name, value] : schedule_->state()) {
    (*state.mutable_schedule())[name] = value;
  }
  for (const auto& [name, value] : last_metrics_) {
    TrainerMetric* metric = state.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  CheckpointContent content;
  content.step = step_;
  const ParameterStore<float>& parameters = model_.parameters();
  const std::vector<TensorView> weights =
      SlabViews(parameters, parameters.values(), "");
  content.weights = weights;
  for (const ParameterAlias& alias : model_.parameters().aliases()) {
    content.weights_metadata[alias.name] =
        model_.parameters().parameters()[alias.target].name;
  }
  std::vector<TensorView> optimizer;
  for (auto& slab : optimizer_->state()) {
    for (TensorView& view : SlabViews(model_.parameters(), slab.values.span(),
                                      StatePrefix(slab))) {
      optimizer.push_back(std::move(view));
    }
  }
  content.optimizer = optimizer;
  google::protobuf::TextFormat::PrintToString(state, &content.state);
  for (TrainingObserver* observer : observers_) {
    REGARD_RETURN_IF_ERROR(observer->Checkpointed(content));
  }
  return absl::OkStatus();
}

absl::Status Trainer::Restore(const Checkpoint& checkpoint) {
  REGARD_RETURN_IF_ERROR(
      LoadWeights(checkpoint.WeightsPath(), model_.parameters()));
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(checkpoint.OptimizerPath()));
  for (auto& slab : optimizer_->state()) {
    REGARD_RETURN_IF_ERROR(ReadSlab(reader, StatePrefix(slab),
                                    model_.parameters(), slab.values.span()));
  }
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadCheckpointState(checkpoint));
  TrainerState state;
  if (!google::protobuf::TextFormat::ParseFromString(text, &state) ||
      state.term_sums_size() != static_cast<int>(term_sums_.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint.path, "/state.textproto: not the state of this experiment"));
  }
  step_ = state.step();
  std::copy(state.term_sums().begin(), state.term_sums().end(),
            term_sums_.begin());
  work_ = state.work();
  REGARD_RETURN_IF_ERROR(schedule_->set_state(ReadScheduleState(state)));
  for (const TrainerMetric& metric : state.metrics()) {
    last_metrics_[metric.name()] = metric.value();
  }
  optimizer_->set_updates(step_);
  finished_ = step_ == total_steps_;
  return absl::OkStatus();
}

std::string Trainer::Profile() const {
  if (!options_.profile) return "";
  std::vector<const TapeProfile*> profiles;
  for (const auto& worker : workers_) profiles.push_back(&worker->profile);
  return ProfileText(profiles, update_seconds_, pool_.threads());
}

absl::StatusOr<TrainerResult> Trainer::Run() {
  start_seconds_ = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  const Training& training = config_.training();
  const auto due = [&](int64_t every) {
    return step_ % (every == 0 ? steps_per_epoch_ : every) == 0;
  };
  const auto result = [&](int stopped_by) {
    return TrainerResult{step_, last_metrics_, stopped_by};
  };
  const auto stop_signal = [&] {
    return options_.stop_signal == nullptr ? 0 : options_.stop_signal->load();
  };
  // The last checkpoint is saved when all has been measured and recorded.
  if (finished_) return result(0);
  while (step_ < total_steps_) {
    if (const int signal = stop_signal(); signal != 0) {
      REGARD_RETURN_IF_ERROR(Save());
      return result(signal);
    }
    const absl::Time before = absl::Now();
    REGARD_RETURN_IF_ERROR(Update());
    update_seconds_ += absl::ToDoubleSeconds(absl::Now() - before);
    if (step_ == total_steps_) break;
    if (due(training.log_every())) {
      REGARD_RETURN_IF_ERROR(Log(TakeTrainingMetrics()));
    }
    if (training.evaluate_every() > 0 &&
        due(training.evaluate_every() * steps_per_epoch_)) {
      REGARD_RETURN_IF_ERROR(Evaluate(/*final=*/false));
    }
    if (due(training.checkpoint_every())) REGARD_RETURN_IF_ERROR(Save());
  }
  REGARD_RETURN_IF_ERROR(Evaluate(/*final=*/true));
  REGARD_RETURN_IF_ERROR(Save());
  return result(0);
}

}  // namespace regard
