#include "experiments/training/resource_plan.h"

#include <algorithm>
#include <any>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"
#include "experiments/tasks/task.h"
#include "google/protobuf/message.h"
#include "nn/forward.h"
#include "nn/gradient_reducer.h"
#include "nn/model.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Numbers that the optimizer keeps per parameter element.
int64_t OptimizerSlabs(const OptimizerConfig& config, const Plugins& plugins) {
  ParameterStore<float> empty;
  empty.Finalize(/*seed=*/0);
  return static_cast<int64_t>(
      plugins.optimizers.Create(config, empty)->state().size());
}

void PlanParameters(const ParameterStore<float>& store,
                    const Experiment& config, int threads,
                    const Plugins& plugins, ResourcePlan* plan) {
  for (const ParameterInfo& info : store.parameters()) {
    plan->parameters.push_back({info.name, info.shape});
  }
  plan->elements = store.num_elements();
  const int64_t slab = plan->elements * static_cast<int64_t>(sizeof(float));
  plan->value_bytes = slab;
  plan->threads = std::min(threads, config.num_shards());
  plan->gradient_slabs = GradientReducer<float>::NumSlabs(
      config.num_shards(), config.optimizer().accumulate_batches(), threads);
  plan->gradient_bytes = slab * plan->gradient_slabs;
  plan->optimizer_bytes = slab * OptimizerSlabs(config.optimizer(), plugins);
}

// Runs one batch forward and backward, without an update.
void MeasureBatch(const Experiment& config, Model<float>& model,
                  ResourcePlan* plan) {
  const int64_t batch = config.training().batch_size();
  // Of a large model a few examples, so that planning takes seconds.
  const int64_t affordable = std::max<int64_t>(
      kMostMeasuredElements / std::max<int64_t>(plan->elements, 1), 8);
  const int64_t size = std::min({batch, model.num_examples(), affordable});
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < size; ++i) {
    examples.push_back(i * model.num_examples() / size);
  }
  const size_t terms = model.loss_terms().size();
  std::vector<double> denominators(terms);
  model.Denominators(examples, absl::MakeSpan(denominators));
  Tape<float> tape;
  GradientSlab<float> gradients(model.parameters());
  Forward<float> forward(tape, model.parameters(), &gradients);
  forward.BeginStep();
  tape.set_training(true);
  tape.set_random({config.seed(), /*step=*/0, examples});
  const int64_t flops = GemmFlops();
  std::vector<Var<float>> sums(terms);
  model.Loss(forward, examples, denominators, absl::MakeSpan(sums));
  forward.Backward(sums, std::vector<double>(terms, 1.0));
  const double batches = static_cast<double>(batch) / static_cast<double>(size);
  plan->measured_examples = size;
  plan->activation_bytes =
      static_cast<int64_t>(static_cast<double>(tape.high_water_bytes()) *
                           batches * static_cast<double>(plan->threads) /
                           static_cast<double>(config.num_shards()));
  plan->update_flops = static_cast<double>(GemmFlops() - flops) * batches *
                       config.optimizer().accumulate_batches();
}

}  // namespace

absl::StatusOr<ResourcePlan> MakeResourcePlan(const Experiment& config,
                                              int threads,
                                              const Plugins& plugins) {
  ResourcePlan plan;
  const TaskInfo& info = *plugins.tasks.Find(config.model());
  const google::protobuf::Message& options =
      *plugins.tasks.ChosenOptions(config.model());
  const TaskContext context{config, plugins.scorers};
  REGARD_ASSIGN_OR_RETURN(std::any data,
                          plugins.data.Create(config.data())
                              ->LoadAny({.path = config.data().path(),
                                         .dev_path = config.data().dev_path(),
                                         .seed = config.seed()}));
  if (info.add_parameters != nullptr) {
    // Parameters have no storage before Finalize(): any model can be counted.
    ParameterStore<float> store;
    info.add_parameters(options, data, context, store);
    PlanParameters(store, config, threads, plugins, &plan);
    if (plan.elements > kMostMeasuredElements) return plan;
  }
  const std::unique_ptr<Task> task =
      info.create(options, std::move(data), context);
  Model<float>& model = task->model();
  if (info.add_parameters == nullptr) {
    PlanParameters(model.parameters(), config, threads, plugins, &plan);
  }
  MeasureBatch(config, model, &plan);
  const int64_t limit = config.training().examples_per_epoch();
  const int64_t epoch =
      limit > 0 ? std::min(limit, model.num_examples()) : model.num_examples();
  const int64_t update = int64_t{config.training().batch_size()} *
                         config.optimizer().accumulate_batches();
  plan.updates =
      (epoch + update - 1) / update * int64_t{config.training().epochs()};
  return plan;
}

namespace {

// 20518405 as "20,518,405".
std::string Grouped(int64_t number) {
  std::string digits = absl::StrCat(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), 1, ',');
  }
  return digits;
}

std::string Bytes(int64_t bytes) {
  constexpr double kMiB = 1024 * 1024;
  const double mebibytes = static_cast<double>(bytes) / kMiB;
  return mebibytes < 1024 ? absl::StrFormat("%.1f MiB", mebibytes)
                          : absl::StrFormat("%.1f GiB", mebibytes / 1024);
}

std::string Flops(double flops) {
  for (const auto& [unit, size] :
       {std::pair<const char*, double>{"P", 1e15}, {"T", 1e12}, {"G", 1e9}}) {
    if (flops >= size)
      return absl::StrFormat("%.2f %sFLOP", flops / size, unit);
  }
  return absl::StrFormat("%.2f MFLOP", flops / 1e6);
}

// The layer of "encoder.rnn.0.weight": what stands before the last dot.
std::string LayerOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

void AppendParameters(const ResourcePlan& plan, std::string* text) {
  absl::StrAppendFormat(text, "%-40s %-18s %14s\n", "layer", "shape",
                        "parameters");
  for (size_t i = 0; i < plan.parameters.size();) {
    const std::string layer = LayerOf(plan.parameters[i].name);
    size_t end = i;
    int64_t elements = 0;
    while (end < plan.parameters.size() &&
           LayerOf(plan.parameters[end].name) == layer) {
      elements += plan.parameters[end++].shape.size();
    }
    absl::StrAppendFormat(text, "%-59s %14s\n", layer, Grouped(elements));
    for (; i < end; ++i) {
      const PlannedParameter& parameter = plan.parameters[i];
      const std::string name = layer.empty()
                                   ? parameter.name
                                   : parameter.name.substr(layer.size() + 1);
      absl::StrAppendFormat(text, "  %-38s %s\n", name,
                            parameter.shape.ToString());
    }
  }
  absl::StrAppendFormat(text, "%-59s %14s\n", "all", Grouped(plan.elements));
}

}  // namespace

std::string ResourcePlanText(const ResourcePlan& plan,
                             const Experiment& config) {
  std::string text = absl::StrCat(config.name(), "\n\n");
  AppendParameters(plan, &text);
  absl::StrAppend(&text, "\nmemory in training\n");
  const auto memory = [&](absl::string_view what, int64_t bytes,
                          absl::string_view note) {
    absl::StrAppendFormat(&text, "  %-14s %12s%s\n", what, Bytes(bytes), note);
  };
  memory("values", plan.value_bytes, "");
  memory("gradients", plan.gradient_bytes,
         absl::StrCat("  ", plan.gradient_slabs, " times, for num_shards: ",
                      config.num_shards(), " on ", plan.threads,
                      plan.threads == 1 ? " thread" : " threads"));
  memory("moments", plan.optimizer_bytes, "  of the optimizer");
  const std::string measured =
      plan.measured_examples == config.training().batch_size()
          ? ""
          : absl::StrCat(", from ", plan.measured_examples, " examples");
  if (plan.activation_bytes.has_value()) {
    memory("activations", *plan.activation_bytes,
           absl::StrCat("  about, at batch_size: ",
                        config.training().batch_size(), measured));
    memory("all",
           plan.value_bytes + plan.gradient_bytes + plan.optimizer_bytes +
               *plan.activation_bytes,
           "");
  } else {
    absl::StrAppend(&text,
                    "  activations: the model is too large to measure\n");
  }
  absl::StrAppend(&text, "\nwork\n");
  if (plan.update_flops.has_value()) {
    absl::StrAppendFormat(&text, "  %-14s %12s  about, in matrix products%s\n",
                          "an update", Flops(*plan.update_flops), measured);
  }
  if (plan.updates.has_value()) {
    absl::StrAppendFormat(&text, "  %-14s %12s  in %d epochs\n", "updates",
                          Grouped(*plan.updates), config.training().epochs());
    if (plan.update_flops.has_value()) {
      absl::StrAppendFormat(
          &text, "  %-14s %12s\n", "all",
          Flops(*plan.update_flops * static_cast<double>(*plan.updates)));
    }
  }
  return text;
}

}  // namespace regard
