// Remembers which text set each field of a config, and points there.
#ifndef EXPERIMENTS_CONFIG_ORIGINS_H_
#define EXPERIMENTS_CONFIG_ORIGINS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/config/config_text.h"
#include "experiments/config/text_checker.h"
#include "nn/config_problems.h"

namespace regard {

// The field of the outermost message that names the config below this one.
inline constexpr char kBaseField[] = "base";

class ConfigOrigins {
 public:
  // Takes what `text` sets, over what earlier texts set. The last file given
  // is the one that the user named; `--set` arguments follow it.
  void Add(ConfigText text, absl::Span<const Mention> mentions);

  // `configs/phrasebook.textproto:12`, `--set`, or nothing when no text sets
  // the field at `path`, so that it has its default.
  std::optional<std::string> Find(absl::string_view path) const;

  // `configs/phrasebook.textproto:12:3`, or `--set`: the place that Diagnostic
  // shows.
  std::string Where(absl::string_view path) const;

  // Files and `--set` arguments, each before those that override it.
  absl::Span<const ConfigText> texts() const { return texts_; }

  // Shows a problem where the field at `path` is set, else at the nearest
  // message around it, at last at the start of the file that the user named.
  // REQUIRES: Add has been called.
  std::string Diagnostic(absl::string_view path,
                         absl::string_view message) const;

 private:
  struct Place {
    size_t text;  // index into texts_
    TextRange range;
  };

  void Forget(const std::string& path);
  Place PlaceOf(absl::string_view path) const;

  std::vector<ConfigText> texts_;
  size_t main_ = 0;  // the file that the user named
  std::map<std::string, Place> places_;
};

// OK without problems; else InvalidArgument, whose message shows up to
// kMostProblems of them at their places and is complete to print.
absl::Status LocateProblems(const ConfigProblems& problems,
                            const ConfigOrigins& origins);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_ORIGINS_H_
