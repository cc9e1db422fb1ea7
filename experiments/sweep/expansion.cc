#include "experiments/sweep/expansion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/experiment.pb.h"
#include "experiments/sweep/axis_flag.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/name_suggestion.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr size_t kMaxCells = 100'000;
constexpr size_t kMaxNameBytes = 120;

std::string NameOf(const SweepAxis& axis) {
  return axis.name().empty() ? absl::StrJoin(axis.path(), " + ") : axis.name();
}

std::string LabelOf(const SweepValue& value) {
  if (!value.label().empty()) return value.label();
  std::vector<std::string> labels;
  for (const std::string& text : value.set()) {
    labels.push_back(LabelOfValue(text));
  }
  return absl::StrJoin(labels, ", ");
}

std::vector<std::string> LabelsOf(const SweepAxis& axis) {
  std::vector<std::string> labels;
  for (const SweepValue& value : axis.value()) labels.push_back(LabelOf(value));
  return labels;
}

// Returns the name of a value for use in the name of a folder. Replaces all
// characters except letters, digits, '.', '-' and '_' by '_'.
std::string Slug(const Axis& axis, size_t value) {
  std::string slug;
  for (const char c : ValueName(axis, value)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       c == '.' || c == '-' || c == '_';
    slug += plain ? c : '_';
  }
  return slug;
}

class Validator {
 public:
  Validator(const Sweep& sweep, ConfigProblems& problems)
      : sweep_(sweep), problems_(problems) {}

  void Validate() {
    problems_.CheckRanges(sweep_);
    if (sweep_.config().empty()) {
      problems_.Add("config",
                    "must name the config file of an experiment; "
                    "give it with --config=FILE");
    }
    if (sweep_.axis_size() == 0) {
      problems_.Add("axis",
                    "must have at least one axis; give it with --axis "
                    "PATH=V1,V2");
    }
    ValidateOverrides(sweep_.override(), "");
    for (int a = 0; a < sweep_.axis_size(); ++a) ValidateAxis(a);
  }

 private:
  void ValidateOverrides(const auto& overrides, const std::string& path) {
    for (int i = 0; i < overrides.size(); ++i) {
      RefuseSeed(overrides[i].path(),
                 absl::StrCat(path, "override[", i, "].path"));
    }
  }

  void RefuseSeed(const std::string& field, const std::string& path) {
    const std::string bare(absl::StripAsciiWhitespace(field));
    if (bare.empty()) problems_.Add(path, "must name a field");
    if (bare == "seed") {
      problems_.Add(path, "must not be seed; use `seeds` and `first_seed`");
    }
  }

  void ValidateAxis(int a) {
    const SweepAxis& axis = sweep_.axis(a);
    const std::string path = absl::StrCat("axis[", a, "]");
    const std::string name = NameOf(axis);
    if (name.empty()) problems_.Add(path, "must have a name or a path");
    for (int other = 0; other < a; ++other) {
      if (NameOf(sweep_.axis(other)) == name) {
        problems_.Add(path, absl::StrCat("another axis is called ", name));
      }
    }
    for (int p = 0; p < axis.path_size(); ++p) {
      RefuseSeed(axis.path(p), absl::StrCat(path, ".path[", p, "]"));
    }
    ValidateCondition(a, axis.when(), axis.has_when(), path + ".when");
    if (axis.value_size() == 0) problems_.Add(path, "has no values");
    const std::vector<std::string> labels = LabelsOf(axis);
    for (int v = 0; v < axis.value_size(); ++v) {
      const SweepValue& value = axis.value(v);
      const std::string at = absl::StrCat(path, ".value[", v, "]");
      if (value.set_size() != axis.path_size()) {
        problems_.Add(
            at, absl::StrCat("sets ", Pluralize(value.set_size(), "field"),
                             ", but the axis has ",
                             Pluralize(axis.path_size(), "path")));
      }
      if (labels[v].empty() || labels[v] == kNotApplicable) {
        problems_.Add(at, "must have another label");
      } else if (std::count(labels.begin(), labels.begin() + v, labels[v]) >
                 0) {
        problems_.Add(at, absl::StrCat(labels[v], " appears twice"));
      }
      ValidateOverrides(value.override(), at + ".");
      ValidateCondition(a, value.when(), value.has_when(), at + ".when");
    }
    if (axis.has_baseline()) {
      RequireLabel(axis.baseline(), axis, path + ".baseline");
    }
  }

  void RequireLabel(const std::string& label, const SweepAxis& axis,
                    const std::string& path) {
    const std::vector<std::string> labels = LabelsOf(axis);
    if (std::ranges::count(labels, label) > 0) return;
    problems_.Add(path, absl::StrCat("axis ", NameOf(axis), " has no value ",
                                     label, SuggestName(label, labels)));
  }

  void ValidateCondition(int a, const SweepCondition& when, bool is_set,
                         const std::string& path) {
    if (!is_set) return;
    std::vector<std::string> names;
    for (int other = 0; other < a; ++other) {
      const SweepAxis& axis = sweep_.axis(other);
      names.push_back(NameOf(axis));
      if (names.back() != when.axis()) continue;
      if (when.label_size() == 0) problems_.Add(path, "must have a label");
      for (int l = 0; l < when.label_size(); ++l) {
        RequireLabel(when.label(l), axis,
                     absl::StrCat(path, ".label[", l, "]"));
      }
      return;
    }
    problems_.Add(path + ".axis",
                  absl::StrCat("no earlier axis is called '", when.axis(), "'",
                               SuggestName(when.axis(), names)));
  }

  const Sweep& sweep_;
  ConfigProblems& problems_;
};

// Builds the arms, one axis at a time.
class Expander {
 public:
  Expander(const SweepWithOrigins& source, ExpandedSweep& plan)
      : source_(source), sweep_(source.sweep), plan_(plan) {}

  // Returns false if there are too many arms.
  bool Expand(std::vector<ConfigTextWithOrigin> first) {
    std::vector<SweepArm> arms(1);
    arms[0].overrides = std::move(first);
    for (int i = 0; i < sweep_.override_size(); ++i) {
      AddOverride(sweep_.override(i), absl::StrCat("override[", i, "]"),
                  arms[0]);
    }
    for (int a = 0; a < sweep_.axis_size(); ++a) {
      AddAxis(a);
      std::vector<SweepArm> longer;
      for (const SweepArm& arm : arms) AddValues(a, arm, longer);
      arms = std::move(longer);
      if (arms.size() * sweep_.seeds() > kMaxCells) return false;
    }
    Name(arms);
    plan_.arms = std::move(arms);
    for (int s = 0; s < sweep_.seeds(); ++s) {
      for (size_t arm = 0; arm < plan_.arms.size(); ++arm) {
        plan_.cells.push_back({arm, sweep_.first_seed() + s});
      }
    }
    return true;
  }

 private:
  void AddOverride(const Override& field, const std::string& path,
                   SweepArm& arm) const {
    Add(field.path(), field.value(), path, arm);
  }

  void Add(const std::string& field, const std::string& value,
           const std::string& path, SweepArm& arm) const {
    arm.overrides.push_back(ConfigTextWithOrigin::Override(
        absl::StrCat(field, "=",
                     WithBraces(*Experiment::descriptor(), field, value)),
        source_.OriginWithColumn(path)));
  }

  // Adds an axis with the values that reports show.
  void AddAxis(int a) {
    const SweepAxis& axis = sweep_.axis(a);
    Axis& added = plan_.axes.emplace_back();
    added.name = NameOf(axis);
    for (int v = 0; v < axis.value_size(); ++v) {
      AxisValue& value = added.values.emplace_back();
      value.label = LabelOf(axis.value(v));
      for (const ConfigTextWithOrigin& text : OverridesOf(a, v)) {
        value.overrides.push_back(text.text());
      }
      if (axis.has_baseline() && value.label == axis.baseline()) {
        added.baseline = v;
      }
    }
  }

  std::vector<ConfigTextWithOrigin> OverridesOf(int a, int v) const {
    const SweepAxis& axis = sweep_.axis(a);
    const SweepValue& value = axis.value(v);
    const std::string path = absl::StrCat("axis[", a, "].value[", v, "]");
    SweepArm arm;
    for (int p = 0; p < axis.path_size(); ++p) {
      Add(axis.path(p), value.set(p), path, arm);
    }
    for (const Override& field : value.override()) {
      AddOverride(field, path, arm);
    }
    return arm.overrides;
  }

  bool Applies(const SweepCondition& when, bool is_set,
               const SweepArm& arm) const {
    if (!is_set) return true;
    for (size_t axis = 0; axis < arm.coordinates.size(); ++axis) {
      if (plan_.axes[axis].name != when.axis()) continue;
      const std::string& label =
          plan_.axes[axis].values[arm.coordinates[axis]].label;
      return std::ranges::count(when.label(), label) > 0;
    }
    return false;
  }

  // Extends `arm` by each value of the axis that applies to it, and appends the
  // results to `longer`.
  void AddValues(int a, const SweepArm& arm, std::vector<SweepArm>& longer) {
    const SweepAxis& axis = sweep_.axis(a);
    bool added = false;
    for (int v = 0; v < axis.value_size(); ++v) {
      const SweepValue& value = axis.value(v);
      if (!Applies(axis.when(), axis.has_when(), arm) ||
          !Applies(value.when(), value.has_when(), arm)) {
        continue;
      }
      SweepArm& with = longer.emplace_back(arm);
      with.coordinates.push_back(v);
      for (ConfigTextWithOrigin& text : OverridesOf(a, v)) {
        with.overrides.push_back(std::move(text));
      }
      added = true;
    }
    if (added) return;
    const size_t none = axis.value_size();
    if (plan_.axes[a].values.size() == none) {
      plan_.axes[a].values.push_back({kNotApplicable, {}});
    }
    longer.push_back(arm);
    longer.back().coordinates.push_back(none);
  }

  void Name(std::vector<SweepArm>& arms) const {
    std::set<std::string> taken;
    for (SweepArm& arm : arms) {
      std::vector<std::string> parts;
      for (size_t a = 0; a < plan_.axes.size(); ++a) {
        const Axis& axis = plan_.axes[a];
        if (axis.values[arm.coordinates[a]].label == kNotApplicable) continue;
        parts.push_back(Slug(axis, arm.coordinates[a]));
      }
      std::string name = absl::StrJoin(parts, "__").substr(0, kMaxNameBytes);
      if (name.empty() || name[0] == '.') name = absl::StrCat("_", name);
      arm.name = name;
      for (int i = 2; !taken.insert(arm.name).second; ++i) {
        arm.name = absl::StrCat(name, "_", i);
      }
    }
  }

  const SweepWithOrigins& source_;
  const Sweep& sweep_;
  ExpandedSweep& plan_;
};

}  // namespace

std::string SweepWithOrigins::OriginWithColumn(absl::string_view path) const {
  const bool of_axis = absl::StartsWith(path, "axis[");
  const bool of_override = absl::StartsWith(path, "override[");
  int index = 0;
  if (of_axis || of_override) {
    const absl::string_view digits = path.substr(path.find('[') + 1);
    // The index is always a number here, so the conversion cannot fail.
    (void)absl::SimpleAtoi(digits.substr(0, digits.find(']')), &index);
  }
  const bool in_file = index < (of_axis ? axes_in_file : overrides_in_file);
  if (!origins.texts().empty() && in_file) {
    return origins.OriginWithColumn(path);
  }
  return of_axis ? "--axis" : "--set";
}

absl::StatusOr<SweepWithOrigins> ReadSweep(const std::string& path) {
  SweepWithOrigins source;
  REGARD_ASSIGN_OR_RETURN(source.origins,
                          ReadConfig({path, {}}, {}, &source.sweep));
  source.axes_in_file = source.sweep.axis_size();
  source.overrides_in_file = source.sweep.override_size();
  return source;
}

absl::StatusOr<ExpandedSweep> ExpandSweep(
    const SweepWithOrigins& source, std::vector<ConfigTextWithOrigin> first) {
  ConfigProblems problems;
  Validator(source.sweep, problems).Validate();
  if (!problems.ok()) {
    if (!source.origins.texts().empty()) {
      return LocateProblems(problems, source.origins);
    }
    std::vector<std::string> lines;
    for (const ConfigProblems::Problem& problem : problems.problems()) {
      lines.push_back(
          absl::StrCat("error: ", problem.path, ": ", problem.message));
    }
    return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
  }
  ExpandedSweep plan;
  if (!Expander(source, plan).Expand(std::move(first))) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: a sweep must have at most ", kMaxCells, " runs"));
  }
  return plan;
}

}  // namespace regard
