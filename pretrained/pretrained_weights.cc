#include "pretrained/pretrained_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "files/safetensors.h"
#include "nn/weights.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kMaxProblems = 40;
constexpr char kWeights[] = "model.safetensors";

// Returns the parts of `name` that the stars of `pattern` match. `nullopt` if
// `name` does not match.
std::optional<std::vector<absl::string_view>> Stars(absl::string_view pattern,
                                                    absl::string_view name) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '.');
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  std::vector<absl::string_view> stars;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "**") return stars;
    if (i == parts.size()) return std::nullopt;
    if (wanted[i] == "*") {
      stars.push_back(parts[i]);
    } else if (wanted[i] != parts[i]) {
      return std::nullopt;
    }
  }
  if (wanted.size() != parts.size()) return std::nullopt;
  return stars;
}

// Returns the name of the tensor that contains the parameter `name`. Empty if
// the row does not match `name`.
std::string TheirName(const WeightMapping& line, absl::string_view name) {
  const auto stars = Stars(line.ours, name);
  if (!stars.has_value()) return "";
  std::vector<absl::string_view> parts = absl::StrSplit(line.theirs, '.');
  size_t used = 0;
  for (absl::string_view& part : parts) {
    if (part == "*") part = stars->at(used++);
  }
  return absl::StrJoin(parts, ".");
}

bool IsTransposed(const WeightMapping& line, const Shape& shape) {
  return line.transposed && shape.rank() == 2;
}

int64_t SizeOf(absl::Span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies());
}

std::vector<int64_t> TheirShape(const WeightMapping& line, const Shape& shape) {
  // The shape does not apply to a parameter of another size.
  if (!line.shape.empty() && SizeOf(line.shape) == shape.size()) {
    return line.shape;
  }
  std::vector<int64_t> extents = Extents(shape);
  if (line.rows > 0) extents[0] = line.rows;
  if (line.parts > 1) extents[0] *= line.parts;
  if (IsTransposed(line, shape)) std::swap(extents[0], extents[1]);
  return extents;
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Calls visit(our element, their element) for each element of a parameter.
void ForEachNumber(const WeightMapping& line, const Shape& shape, auto ours,
                   auto theirs, const auto& visit) {
  const auto size = static_cast<size_t>(shape.size());
  const auto part = static_cast<size_t>(line.part);
  if (!IsTransposed(line, shape)) {
    for (size_t i = 0; i < size; ++i) visit(ours[i], theirs[part * size + i]);
    return;
  }
  const auto outputs = static_cast<size_t>(shape[0]);
  const auto inputs = static_cast<size_t>(shape[1]);
  const size_t columns = theirs.size() / inputs;
  // Processes a few rows at a time, so that the data stays in the cache.
  constexpr size_t kRows = 16;
  for (size_t begin = 0; begin < inputs; begin += kRows) {
    const size_t end = std::min(inputs, begin + kRows);
    for (size_t output = 0; output < outputs; ++output) {
      for (size_t input = begin; input < end; ++input) {
        visit(ours[output * inputs + input],
              theirs[input * columns + part * outputs + output]);
      }
    }
  }
}

}  // namespace

// The tensors from which parameters are read, and the problems found.
class PretrainedWeights::Plan {
 public:
  Plan(const PretrainedWeights& weights,
       const ParameterStore<float>& parameters, std::vector<std::string>* kept);

  bool fits() const { return problems_.empty(); }
  // Reads the tensors of the right shape, and reports numbers that are not
  // finite.
  absl::Status CheckNumbers();
  absl::Status Fill(ParameterStore<float>& parameters);
  // Returns an error that lists all problems so far.
  absl::Status status() const;

 private:
  struct Use {
    int32_t parameter;
    const WeightMapping* line;
    bool repeats;  // whether an earlier tensor contains the parameter
  };

  template <typename... Parts>
  void Add(const std::string& path, const Parts&... parts) {
    std::string problem = absl::StrCat(path, ": error: ", parts...);
    // Several parameters of one tensor can have the same problem.
    if (seen_.insert(problem).second) problems_.push_back(std::move(problem));
  }
  // Finds the tensors of a parameter, by its name or an alias.
  void Find(const std::string& name, int32_t parameter, bool alias,
            std::vector<std::string>* kept);
  // Returns whether a tensor contains floats of the shape `shape`. Otherwise,
  // reports a problem.
  bool Fits(const std::string& tensor, absl::Span<const int64_t> shape);
  absl::Status Read(const std::string& tensor, absl::Span<float> values);
  absl::Status CompareRepeated(const ParameterStore<float>& parameters);

  const PretrainedWeights& weights_;
  const TensorFolder& tensors_;
  absl::Span<const ParameterInfo> infos_;
  std::map<std::string, std::vector<Use>> uses_;  // by tensor
  std::vector<std::string> sources_;  // by parameter; empty if none was found
  std::vector<std::string> problems_;
  std::set<std::string> seen_;  // copies of problems_, for look-up
};

PretrainedWeights::Plan::Plan(const PretrainedWeights& weights,
                              const ParameterStore<float>& parameters,
                              std::vector<std::string>* kept)
    : weights_(weights),
      tensors_(weights.tensors_),
      infos_(parameters.parameters()),
      sources_(infos_.size()) {
  for (size_t i = 0; i < infos_.size(); ++i) {
    Find(infos_[i].name, static_cast<int32_t>(i), /*alias=*/false, kept);
  }
  for (const ParameterAlias& alias : parameters.aliases()) {
    Find(alias.name, alias.target, /*alias=*/true, kept);
  }
  for (const auto& [canonical, tensor] : weights.names_) {
    if (uses_.contains(tensor)) continue;
    Add(tensors_.PathOf(tensor), "tensor '", absl::Utf8SafeCHexEscape(tensor),
        "' does not belong to this model");
  }
}

void PretrainedWeights::Plan::Find(const std::string& name, int32_t parameter,
                                   bool alias, std::vector<std::string>* kept) {
  const Shape& shape = infos_[parameter].shape;
  std::string wanted;
  bool of_task = true;  // also true for names that are not in the table
  bool seen = false;    // whether a tensor exists, valid or not
  for (const WeightMapping& line : weights_.table_.names) {
    const std::string theirs = TheirName(line, name);
    if (theirs.empty()) continue;
    of_task = line.of_task;
    const std::vector<int64_t> extents = TheirShape(line, shape);
    if (wanted.empty()) {
      wanted = absl::StrCat("'", theirs, "', F32 ", ShapeText(extents));
    }
    const auto [begin, end] =
        weights_.names_.equal_range(weights_.NormalizeTensorName(theirs));
    for (auto named = begin; named != end; ++named) {
      const std::string& tensor = named->second;
      std::vector<Use>& uses = uses_[tensor];
      if (of_task && kept != nullptr &&
          tensors_.info(tensor).shape != extents) {
        continue;
      }
      seen = true;
      if (!Fits(tensor, extents)) continue;
      std::string& source = sources_[parameter];
      uses.push_back({parameter, &line, /*repeats=*/!source.empty()});
      if (source.empty()) source = tensor;
    }
  }
  if (seen || alias) return;
  if (of_task && kept != nullptr) {
    kept->push_back(name);
  } else if (wanted.empty()) {
    Add(tensors_.path(), "no tensor holds the parameter '", name,
        "' of this model");
  } else {
    Add(tensors_.path(), "the tensor ", wanted, ", is missing");
  }
}

bool PretrainedWeights::Plan::Fits(const std::string& tensor,
                                   absl::Span<const int64_t> shape) {
  const TensorInfo& info = tensors_.info(tensor);
  const bool floats = ContainsFloats(info);
  if (floats && absl::MakeConstSpan(info.shape) == shape) return true;
  Add(tensors_.PathOf(tensor), "tensor '", tensor, "' is ", info.dtype, " ",
      ShapeText(info.shape), "; expected ",
      floats ? info.dtype : "F32, F16 or BF16", " ", ShapeText(shape));
  return false;
}

absl::Status PretrainedWeights::Plan::Read(const std::string& tensor,
                                           absl::Span<float> values) {
  REGARD_RETURN_IF_ERROR(tensors_.Read(tensor, values));
  const auto is_bad = [](float value) { return !std::isfinite(value); };
  const auto first = std::ranges::find_if(values, is_bad);
  if (first == values.end()) return absl::OkStatus();
  Add(tensors_.PathOf(tensor), "tensor '", tensor, "' has ",
      std::count_if(first, values.end(), is_bad),
      " numbers that are not finite, the first at index ",
      first - values.begin(), "; all must be finite");
  return absl::OkStatus();
}

absl::Status PretrainedWeights::Plan::CheckNumbers() {
  std::vector<float> scratch;
  for (const auto& [tensor, uses] : uses_) {
    if (uses.empty()) continue;
    scratch.resize(SizeOf(tensors_.info(tensor).shape));
    REGARD_RETURN_IF_ERROR(Read(tensor, absl::MakeSpan(scratch)));
  }
  return absl::OkStatus();
}

absl::Status PretrainedWeights::Plan::Fill(ParameterStore<float>& parameters) {
  std::vector<float> scratch;
  for (const auto& [tensor, uses] : uses_) {
    if (std::ranges::all_of(uses, &Use::repeats)) continue;
    const std::vector<int64_t>& shape = tensors_.info(tensor).shape;
    const Use& only = uses[0];
    if (const ParameterInfo& info = infos_[only.parameter];
        uses.size() == 1 && info.size() == SizeOf(shape) &&
        !IsTransposed(*only.line, info.shape)) {
      REGARD_RETURN_IF_ERROR(
          Read(tensor, parameters.value({only.parameter, &parameters})));
      continue;
    }
    scratch.resize(SizeOf(shape));
    REGARD_RETURN_IF_ERROR(Read(tensor, absl::MakeSpan(scratch)));
    for (const auto& [parameter, line, repeats] : uses) {
      if (repeats) continue;
      ForEachNumber(*line, infos_[parameter].shape,
                    parameters.value({parameter, &parameters}),
                    absl::MakeConstSpan(scratch),
                    [](float& ours, float theirs) { ours = theirs; });
    }
  }
  return CompareRepeated(parameters);
}

absl::Status PretrainedWeights::Plan::CompareRepeated(
    const ParameterStore<float>& parameters) {
  std::vector<float> scratch;
  for (const auto& [tensor, uses] : uses_) {
    if (std::ranges::none_of(uses, &Use::repeats)) continue;
    scratch.resize(SizeOf(tensors_.info(tensor).shape));
    REGARD_RETURN_IF_ERROR(Read(tensor, absl::MakeSpan(scratch)));
    for (const auto& [parameter, line, repeats] : uses) {
      if (!repeats) continue;
      int64_t different = 0;
      ForEachNumber(*line, infos_[parameter].shape,
                    parameters.value({parameter, &parameters}),
                    absl::MakeConstSpan(scratch),
                    [&](float ours, float theirs) {
                      different += ours == theirs ? 0 : 1;
                    });
      if (different == 0) continue;
      Add(tensors_.PathOf(tensor), "tensors '", sources_[parameter], "' and '",
          tensor, "' are the same parameter, but ", different,
          " of their numbers differ; they must be equal");
    }
  }
  return absl::OkStatus();
}

absl::Status PretrainedWeights::Plan::status() const {
  if (problems_.empty()) return absl::OkStatus();
  std::vector<std::string> lines = problems_;
  if (lines.size() > kMaxProblems) {
    lines.resize(kMaxProblems);
    lines.push_back(absl::StrCat(tensors_.path(), ": ",
                                 problems_.size() - kMaxProblems,
                                 " more errors"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

absl::StatusOr<PretrainedWeights> PretrainedWeights::Open(
    const std::string& folder, WeightTable table) {
  REGARD_ASSIGN_OR_RETURN(TensorFolder tensors, TensorFolder::Open(folder));
  PretrainedWeights weights(std::move(tensors), std::move(table));
  for (const auto& [name, file] : weights.tensors_.tensors()) {
    std::string canonical = weights.NormalizeTensorName(name);
    const bool ignored = std::ranges::any_of(
        weights.table_.ignored, [&](const std::string& pattern) {
          return Stars(pattern, canonical).has_value();
        });
    if (!ignored) weights.names_.emplace(std::move(canonical), name);
  }
  return weights;
}

std::string PretrainedWeights::NormalizeTensorName(
    absl::string_view theirs) const {
  absl::ConsumePrefix(&theirs, table_.prefix);
  for (const auto& [old, now] : table_.old_endings) {
    if (absl::ConsumeSuffix(&theirs, old)) return absl::StrCat(theirs, now);
  }
  return std::string(theirs);
}

bool PretrainedWeights::Has(absl::string_view theirs) const {
  return names_.contains(NormalizeTensorName(theirs));
}

absl::Status PretrainedWeights::Check(
    const ParameterStore<float>& parameters) const {
  Plan plan(*this, parameters, /*kept=*/nullptr);
  // If some tensors do not fit, also reports numbers in the other tensors that
  // are not finite.
  if (!plan.fits()) REGARD_RETURN_IF_ERROR(plan.CheckNumbers());
  return plan.status();
}

absl::Status PretrainedWeights::Load(ParameterStore<float>& parameters,
                                     std::vector<std::string>* kept) const {
  REGARD_RETURN_IF_ERROR(CheckMemory(parameters));
  Plan plan(*this, parameters, kept);
  REGARD_RETURN_IF_ERROR(plan.fits() ? plan.Fill(parameters)
                                     : plan.CheckNumbers());
  return plan.status();
}

absl::Status WritePretrainedWeights(const WeightTable& table,
                                    const ParameterStore<float>& parameters,
                                    const std::string& folder,
                                    FileOperations& files) {
  std::map<std::string, std::vector<float>> joined;  // by tensor name
  std::vector<NamedTensorView> tensors;
  for (NamedTensorView& view :
       SlabViews(parameters, parameters.values(), /*prefix=*/"")) {
    const auto line =
        std::ranges::find_if(table.names, [&](const WeightMapping& each) {
          return !TheirName(each, view.name).empty();
        });
    if (line == table.names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: ", folder, ": no tensor of this format holds the parameter '",
          view.name, "' of this model"));
    }
    if (!line->written) continue;
    const Shape& shape =
        parameters.info(*parameters.FindByName(view.name)).shape;
    view.name = TheirName(*line, view.name);
    view.shape = TheirShape(*line, shape);
    if (line->parts == 1 && !IsTransposed(*line, shape)) {
      tensors.push_back(std::move(view));
      continue;
    }
    std::vector<float>& theirs = joined[view.name];
    const bool is_new = theirs.empty();
    theirs.resize(SizeOf(view.shape));
    ForEachNumber(*line, shape, view.values, absl::MakeSpan(theirs),
                  [](float ours, float& number) { number = ours; });
    if (!is_new) continue;
    view.values = theirs;
    tensors.push_back(std::move(view));
  }
  return WriteSafetensorsFile(JoinPath(folder, kWeights), tensors,
                              /*metadata=*/{}, files);
}

}  // namespace regard
