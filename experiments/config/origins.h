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
#include "files/config_text.h"
#include "google/protobuf/descriptor.h"
#include "nn/config_problems.h"

namespace regard {

// The field of the outermost message that names the config below this one.
inline constexpr char kBaseField[] = "base";

// A field that a text sets.
struct FieldAssignment {
  std::string parent = {};  // path of the message around it; "" at the top
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::optional<int> index = {};  // of an element of a repeated field
  TextRange range = {};           // of the name as written

  // The whole of a repeated field.
  bool is_list() const { return field->is_repeated() && !index.has_value(); }
  std::string Path() const;
};

class ConfigOrigins {
 public:
  // The texts go over one another in the order in which they are added. The
  // last file is the one that the user named; `--set` arguments follow it.
  void Add(ConfigText text);

  // The last text sets a field, or a list anew: what earlier texts set there,
  // or in other members of its oneof, is forgotten.
  void Note(const FieldAssignment& assignment);

  // Forgets who set the field at `path` and what is in it.
  void Forget(const std::string& path);

  // `configs/phrasebook.textproto:12`, `--set`, or nothing when no text sets
  // the field at `path`, so that it has its default.
  std::optional<std::string> Find(absl::string_view path) const;

  // `configs/phrasebook.textproto:12:3`, or `--set`: the place that Diagnostic
  // shows.
  std::string Where(absl::string_view path) const;

  // The file that the user named.
  const ConfigText& main_text() const { return texts_[main_]; }

  // Files and `--set` arguments, each before those that override it.
  absl::Span<const ConfigText> texts() const { return texts_; }

  // Shows a problem where the field at `path` is set, else at the nearest
  // message around it, at last at the start of the file that the user named.
  // REQUIRES: Add has been called.
  std::string Diagnostic(absl::string_view path, std::string message) const;

 private:
  struct Place {
    size_t text;  // index into texts_
    TextRange range;
  };

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
