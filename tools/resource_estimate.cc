#include "tools/resource_estimate.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/task.h"
#include "experiments/training/batch_plan.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "nn/forward.h"
#include "optimization/gradient_reducer.h"
#include "optimization/model.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

// Returns the number of values that the optimizer stores for each element of a
// parameter.
int64_t OptimizerSlabs(const OptimizerConfig& config, const Plugins& plugins) {
  ParameterStore<float> empty;
  empty.Finalize(/*seed=*/0);
  return static_cast<int64_t>(
      plugins.optimizers.Create(config, empty)->state().size());
}

void PlanParameters(const ParameterStore<float>& store,
                    const Experiment& config, int threads,
                    const Plugins& plugins, ResourceEstimate* estimate) {
  estimate->parameters.assign(store.parameters().begin(),
                              store.parameters().end());
  estimate->elements = store.num_elements();
  const int64_t slab = estimate->elements * static_cast<int64_t>(sizeof(float));
  estimate->value_bytes = slab;
  estimate->threads = std::min(threads, config.num_shards());
  estimate->gradient_slabs = GradientReducer<float>::NumSlabs(
      config.num_shards(), config.optimizer().accumulate_batches(), threads);
  estimate->gradient_bytes = slab * estimate->gradient_slabs;
  estimate->optimizer_bytes =
      slab * OptimizerSlabs(config.optimizer(), plugins);
  const Training& training = config.training();
  estimate->selection_bytes =
      slab * (training.average() + (training.has_early_stopping() ? 1 : 0) +
              (training.ema_decay() > 0 ? 1 : 0));
}

// A batch whose memory and work are measured.
struct MeasuredBatch {
  std::vector<int64_t> examples;
  // Mean work of an optimizer step divided by the work of this batch.
  double per_update = 0;
};

// Returns the number of positions of the padded batch.
int64_t Positions(const Model<float>& model,
                  absl::Span<const int64_t> examples) {
  SequenceLengths longest = {};
  for (const int64_t example : examples) {
    const SequenceLengths lengths = model.Lengths(example);
    for (size_t i = 0; i < longest.size(); ++i) {
      longest[i] = std::max(longest[i], lengths[i]);
    }
  }
  return static_cast<int64_t>(examples.size()) * (longest[0] + longest[1]);
}

// Returns the number of examples with this number of positions that fit into
// the limit of a measured batch, at most `count`.
int64_t AtMost(int64_t count, int64_t positions) {
  return std::min(
      count, std::max<int64_t>(
                 kMaxMeasuredPositions / std::max<int64_t>(positions, 1), 1));
}

// Returns a batch of at most `affordable` examples. If examples are grouped by
// length, it is the largest batch. Otherwise, it contains examples of all
// lengths.
MeasuredBatch ChooseBatch(const Experiment& config, Model<float>& model,
                          int64_t affordable, ResourceEstimate* estimate) {
  const Training& training = config.training();
  MeasuredBatch chosen;
  if (!GroupsByLength(training, model)) {
    estimate->batch_examples =
        std::min<int64_t>(training.batch_size(), model.num_examples());
    if (training.examples_per_epoch() > 0) {
      estimate->batch_examples =
          std::min(estimate->batch_examples, training.examples_per_epoch());
    }
    int64_t size =
        std::min({estimate->batch_examples, model.num_examples(), affordable});
    const auto choose = [&](int64_t count) {
      chosen.examples.clear();
      for (int64_t i = 0; i < count; ++i) {
        chosen.examples.push_back(i * model.num_examples() / count);
      }
    };
    choose(size);
    size = AtMost(size, Positions(model, chosen.examples) / size);
    choose(size);
    chosen.per_update = static_cast<double>(estimate->batch_examples) /
                        static_cast<double>(size) *
                        config.optimizer().accumulate_batches();
    return chosen;
  }
  BatchPlan batches(config, model);
  int64_t all = 0;
  int64_t most = -1;
  absl::Span<const int64_t> largest;
  for (int64_t step = 0; step < batches.updates_per_epoch(); ++step) {
    for (const absl::Span<const int64_t> batch : batches.BatchesOf(step)) {
      const int64_t positions = Positions(model, batch);
      all += positions;
      if (positions > most) {
        most = positions;
        largest = batch;
      }
    }
  }
  estimate->batch_examples = static_cast<int64_t>(largest.size());
  const int64_t size = AtMost(std::min(estimate->batch_examples, affordable),
                              most / estimate->batch_examples);
  for (int64_t i = 0; i < size; ++i) {
    chosen.examples.push_back(largest[i * estimate->batch_examples / size]);
  }
  chosen.per_update = static_cast<double>(all) /
                      static_cast<double>(batches.updates_per_epoch()) /
                      static_cast<double>(std::max<int64_t>(
                          Positions(model, chosen.examples), 1));
  return chosen;
}

// Measures the forward and backward pass of one batch, without an optimizer
// step.
void MeasureBatch(const Experiment& config, Model<float>& model,
                  ResourceEstimate* estimate) {
  // Uses few examples for a large model, and still fewer for long sequences, so
  // that planning takes seconds.
  const int64_t affordable = std::max<int64_t>(
      kMaxMeasuredElements / std::max<int64_t>(estimate->elements, 1), 8);
  const MeasuredBatch batch = ChooseBatch(config, model, affordable, estimate);
  const std::vector<int64_t>& examples = batch.examples;
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
  estimate->measured_examples = static_cast<int64_t>(examples.size());
  estimate->activation_bytes =
      static_cast<int64_t>(static_cast<double>(tape.high_water_bytes()) *
                           static_cast<double>(estimate->batch_examples) /
                           static_cast<double>(estimate->measured_examples) *
                           static_cast<double>(estimate->threads) /
                           static_cast<double>(config.num_shards()));
  estimate->packed_bytes = model.parameters().packed_bytes();
  estimate->update_flops =
      static_cast<double>(GemmFlops() - flops) * batch.per_update;
}

}  // namespace

absl::StatusOr<ResourceEstimate> EstimateResources(const LoadedConfig& loaded,
                                                   int threads,
                                                   const Plugins& plugins) {
  ResourceEstimate estimate;
  const Experiment& config = loaded.config;
  // Parameters have no memory before Finalize(), so models of any size can be
  // counted.
  REGARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<Task> task,
      BuildTask(config, plugins, nullptr, /*finalize=*/false));
  ParameterStore<float>& parameters = task->model().parameters();
  PlanParameters(parameters, config, threads, plugins, &estimate);
  if (estimate.elements > kMaxMeasuredElements) return estimate;
  if (!parameters.finalized()) parameters.Finalize(config.seed());
  ConfigProblems problems;
  ValidateTask(*task, config, problems);
  if (task->model().num_examples() == 0) {
    problems.Add("data", "must have at least one training example");
  }
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, loaded.origins));
  MeasureBatch(config, task->model(), &estimate);
  if (config.precision() == BFLOAT16_PRODUCTS) {
    estimate.products = CountOperationFlops(task->model(), config.seed());
  }
  estimate.updates = BatchPlan(config, task->model()).total_updates();
  return estimate;
}

namespace {

// Formats 20518405 as "20,518,405".
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
    if (flops >= size) {
      return absl::StrFormat("%.2f %sFLOP", flops / size, unit);
    }
  }
  return absl::StrFormat("%.2f MFLOP", flops / 1e6);
}

// Returns the name of the layer of a parameter, which is the text before the
// last dot: "encoder.rnn.0" for "encoder.rnn.0.weight".
std::string LayerOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

void AppendParameters(const ResourceEstimate& estimate, std::string* text) {
  absl::StrAppendFormat(text, "%-40s %-18s %14s\n", "layer", "shape",
                        "parameters");
  for (size_t i = 0; i < estimate.parameters.size();) {
    const std::string layer = LayerOf(estimate.parameters[i].name);
    size_t end = i;
    int64_t elements = 0;
    while (end < estimate.parameters.size() &&
           LayerOf(estimate.parameters[end].name) == layer) {
      elements += estimate.parameters[end++].shape.size();
    }
    absl::StrAppendFormat(text, "%-59s %14s\n", layer, Grouped(elements));
    for (; i < end; ++i) {
      const ParameterInfo& parameter = estimate.parameters[i];
      const std::string name = layer.empty()
                                   ? parameter.name
                                   : parameter.name.substr(layer.size() + 1);
      absl::StrAppendFormat(text, "  %-38s %s\n", name,
                            parameter.shape.ToString());
    }
  }
  absl::StrAppendFormat(text, "%-59s %14s\n", "total",
                        Grouped(estimate.elements));
}

}  // namespace

namespace {

// Returns `scope` with "[*]" in place of each index.
std::string WithoutIndices(const std::string& scope) {
  std::string text;
  bool within = false;
  for (const char c : scope) {
    if (c == '[') text.append("[*]");
    within = c == '[' || (within && c != ']');
    if (!within && c != ']') text.push_back(c);
  }
  return text.empty() ? "(no scope)" : text;
}

// Appends a line for each operation and precision. The line has the percentage
// of the floating-point operations, and the scopes in which the operation runs.
void AppendProducts(const std::vector<OperationFlops>& products,
                    std::string* text) {
  struct Line {
    int64_t flops = 0;
    std::set<std::string> scopes;
  };
  std::map<std::pair<std::string, std::string>, Line> lines;
  int64_t all = 0;
  for (const OperationFlops& of : products) {
    const auto add = [&](const char* precision, int64_t flops) {
      if (flops == 0) return;
      Line& line = lines[{precision, of.operation}];
      line.flops += flops;
      line.scopes.insert(WithoutIndices(of.scope));
    };
    add("bfloat16", of.rounded_flops);
    add("float32", of.flops - of.rounded_flops);
    all += of.flops;
  }
  absl::StrAppend(text, "\nmatrix products of a forward pass\n");
  for (const auto& [key, line] : lines) {
    absl::StrAppendFormat(
        text, "  %-8s  %5.1f %%  %s in %s\n", key.first,
        100.0 * static_cast<double>(line.flops) / static_cast<double>(all),
        key.second, absl::StrJoin(line.scopes, ", "));
  }
}

}  // namespace

std::string ResourceEstimateText(const ResourceEstimate& estimate,
                                 const Experiment& config) {
  std::string text = absl::StrCat(config.name(), "\n\n");
  AppendParameters(estimate, &text);
  absl::StrAppend(&text, "\nmemory in training\n");
  const auto memory = [&](absl::string_view what, int64_t bytes,
                          absl::string_view note) {
    absl::StrAppendFormat(&text, "  %-14s %12s%s\n", what, Bytes(bytes), note);
  };
  memory("values", estimate.value_bytes, "");
  memory("gradients", estimate.gradient_bytes,
         absl::StrCat("  ", estimate.gradient_slabs,
                      " copies, for num_shards: ", config.num_shards(), " on ",
                      estimate.threads,
                      estimate.threads == 1 ? " thread" : " threads"));
  memory("moments", estimate.optimizer_bytes, "  of the optimizer");
  if (estimate.selection_bytes > 0) {
    memory("kept weights", estimate.selection_bytes,
           "  best, earlier and averaged weights");
  }
  const Training& training = config.training();
  const std::string measured =
      estimate.measured_examples == estimate.batch_examples
          ? ""
          : absl::StrCat(", measured on ", estimate.measured_examples,
                         " examples");
  if (!estimate.updates.has_value()) {
    return absl::StrCat(
        text, "  activations: the model is too large to measure\n\nwork\n");
  }
  if (estimate.packed_bytes > 0) {
    memory("packed weights", estimate.packed_bytes,
           "  copies for fast matrix products");
  }
  memory(
      "activations", *estimate.activation_bytes,
      absl::StrCat("  estimate for ",
                   training.batch_tokens() > 0
                       ? absl::StrCat("batch_tokens: ", training.batch_tokens())
                       : absl::StrCat("batch_size: ", training.batch_size()),
                   measured));
  memory("total",
         estimate.value_bytes + estimate.gradient_bytes +
             estimate.optimizer_bytes + estimate.selection_bytes +
             estimate.packed_bytes + *estimate.activation_bytes,
         "");
  if (!estimate.products.empty()) AppendProducts(estimate.products, &text);
  absl::StrAppendFormat(
      &text, "\nwork\n  %-14s %12s  estimate for matrix products%s\n",
      "optimizer step", Flops(*estimate.update_flops), measured);
  absl::StrAppendFormat(
      &text, "  %-14s %12s  in %s\n", "steps", Grouped(*estimate.updates),
      training.max_updates() > 0 && *estimate.updates == training.max_updates()
          ? std::string("total, limited by max_updates")
          : absl::StrCat(training.epochs(), " epochs"));
  absl::StrAppendFormat(
      &text, "  %-14s %12s\n", "total",
      Flops(*estimate.update_flops * static_cast<double>(*estimate.updates)));
  return text;
}

nlohmann::ordered_json ResourceEstimateJson(const ResourceEstimate& estimate,
                                            const Experiment& config) {
  nlohmann::ordered_json json = {
      {"name", config.name()},
      {"elements", estimate.elements},
      {"parameters", nlohmann::ordered_json::array()},
      {"bytes",
       {{"values", estimate.value_bytes},
        {"gradients", estimate.gradient_bytes},
        {"optimizer", estimate.optimizer_bytes},
        {"kept_weights", estimate.selection_bytes}}},
      {"batch_examples", estimate.batch_examples},
      {"measured_examples", estimate.measured_examples}};
  for (const ParameterInfo& parameter : estimate.parameters) {
    nlohmann::ordered_json shape = nlohmann::ordered_json::array();
    for (int i = 0; i < parameter.shape.rank(); ++i) {
      shape.push_back(parameter.shape[i]);
    }
    json["parameters"].push_back(
        {{"name", parameter.name}, {"shape", std::move(shape)}});
  }
  if (estimate.activation_bytes.has_value()) {
    json["bytes"]["packed_weights"] = estimate.packed_bytes;
    json["bytes"]["activations"] = *estimate.activation_bytes;
  }
  if (estimate.update_flops.has_value()) {
    json["update_flops"] = *estimate.update_flops;
  }
  if (estimate.updates.has_value()) json["updates"] = *estimate.updates;
  for (const OperationFlops& products : estimate.products) {
    json["products"].push_back({{"scope", products.scope},
                                {"operation", products.operation},
                                {"flops", products.flops},
                                {"rounded_flops", products.rounded_flops}});
  }
  return json;
}

namespace {

constexpr char kUsage[] =
    "Estimates what an experiment requires, without training it: layers,\n"
    "shapes, parameters, memory and work.\n\n"
    "  plan --config=FILE [--set PATH=VALUE]... [--threads=N] [--json]\n\n"
    "The second example replaces a missing corpus with random sentences.\n\n"
    "Examples:\n"
    "  plan --config=configs/phrasebook.textproto\n"
    "  plan --config=configs/multi30k_transformer.textproto \\\n"
    "    --set 'data={placeholder {source_vocabulary: 7853 target_vocabulary: "
    "5893}}'";

absl::Status Plan(int argc, char** argv, const Plugins& plugins) {
  std::string config;
  std::vector<std::string> overrides;
  int threads = HardwareThreads();
  CommandLine line(kUsage);
  line.Text("config", "FILE", &config, kConfigHelp);
  line.Repeated("set", "PATH=VALUE", &overrides, kSetHelp);
  line.Number("threads", &threads, 1, 1024, "number of threads to plan for",
              kThreadsDefault);
  bool json = false;
  line.Switch("json", &json, kJsonHelp);
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (config.empty()) {
    return absl::InvalidArgumentError(
        "error: --config=FILE must name a config file");
  }
  REGARD_ASSIGN_OR_RETURN(
      const LoadedConfig loaded,
      LoadConfig({config, std::nullopt}, overrides, plugins));
  REGARD_ASSIGN_OR_RETURN(const ResourceEstimate estimate,
                          EstimateResources(loaded, threads, plugins));
  const std::string text =
      json ? JsonText(ResourceEstimateJson(estimate, loaded.config)) + "\n"
           : ResourceEstimateText(estimate, loaded.config);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int PlanMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(Plan(argc, argv, plugins));
}

}  // namespace regard
