// Reads an experiment's config from text: files that extend one another by
// `base: "other.textproto"`, then `--set path=value` arguments.
//
// Any proto2 message without maps and groups will do. Inheritance needs a
// string field `base` of the outermost message, which is empty in the result.
#ifndef OPTIONS_READER_H_
#define OPTIONS_READER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "options/config_problems.h"
#include "options/config_text.h"

namespace regard {

inline constexpr char kBaseField[] = "base";

// A field that a text sets.
struct FieldAssignment {
  std::string parent = {};  // path of the message around it; "" at the top
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::optional<int> index = {};  // of an element of a repeated field
  TextRange range = {};           // of the name as written

  // The whole of a repeated field.
  bool is_list() const { return field->is_repeated() && !index.has_value(); }
  // Whether earlier texts are forgotten: a list, or a field with `replaces`.
  bool replaces() const;
  std::string Path() const;
};

// Remembers which text set each field of a config, and points there.
class ConfigOrigins {
 public:
  // The texts go over one another in the order in which they are added. The
  // last file is the one that the user named; `--set` arguments follow it.
  void Add(ConfigText text);

  // The last text sets a field, or replaces it: what earlier texts set there,
  // or in other members of its oneof, is forgotten.
  void Note(const FieldAssignment& assignment);

  // Forgets who set the field at `path` and what is in it.
  void Forget(const std::string& path);

  // `configs/phrasebook.textproto:12`, `--set`, or nothing when no text sets
  // the field at `path`, so that it has its default.
  std::optional<std::string> Find(absl::string_view path) const;

  // The place that Diagnostic shows: `configs/a.textproto:12:3`, or `--set`.
  std::string Where(absl::string_view path) const;

  const ConfigText& main_text() const { return texts_[main_]; }

  // Files and `--set` arguments, each before those that override it.
  absl::Span<const ConfigText> texts() const { return texts_; }

  // Shows a problem where the field at `path`, or `within` its string, is set,
  // else at the nearest message around it, at last at the start of the file
  // that the user named. REQUIRES: Add has been called.
  std::string Diagnostic(absl::string_view path, std::string message,
                         const TextRange& within = {}) const;

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

// More bases on top of one another are refused.
inline constexpr int kMostBases = 16;

struct ConfigSource {
  // The path as the user gave it (see ResolveUserPath), or what to call an
  // embedded text in messages.
  std::string name;
  // Present for a text that is embedded in the program; it cannot have a base.
  std::optional<std::string> embedded;
};

// Reads `source`, its bases, and `overrides` in their order into `config`, and
// returns where each value came from. Each file is checked alone, so a field
// set twice in it is an error, and goes over its base (see ReadText).
//
// The error is InvalidArgument (or IsMachineFailure() of `source`), complete to
// print: all problems of the first file that has any, else of all overrides.
// `config` is then unspecified.
absl::StatusOr<ConfigOrigins> ReadConfig(
    const ConfigSource& source, absl::Span<const std::string> overrides,
    google::protobuf::Message* config);

// The arguments of --set as texts.
std::vector<ConfigText> OverrideTexts(absl::Span<const std::string> overrides);

// The same as ReadConfig with overrides that say where the user wrote them.
absl::StatusOr<ConfigOrigins> ReadConfigWith(
    const ConfigSource& source, absl::Span<const ConfigText> overrides,
    google::protobuf::Message* config);

// Lays `overrides` over `config`, which was read from `origins`, and adds them
// there. Errors are as ReadConfig's.
absl::Status ApplyOverrides(absl::Span<const ConfigText> overrides,
                            google::protobuf::Message* config,
                            ConfigOrigins* origins);

// Deeper messages are refused, which bounds the recursion of the reader.
inline constexpr int kDeepestNesting = 64;

// Whether the file called `name` is in the folder of a run: its
// resolved.textproto, or a config.textproto beside one. There a field may have
// its (former_name), since an earlier program may have written it.
bool IsOfRun(const std::string& name);

// Adds `text` to `origins` and reads it over what `config` holds: scalars
// replace, messages combine field by field, repeated fields and messages with
// the option `replaces` replace as a whole, and a member of a oneof clears the
// others. Notes in `origins` what it sets.
//
// An override sets one field. Its path leads through messages, which come into
// being as needed, and elements that exist; a list of at most one element needs
// no index:
//
//   model.layers[1].heads=8        layers={heads: 4}        sizes=[8, 16]
//   model.outside.[lab.my_score].width=8                    data.path=fra.txt
//
// The value is written as in a file; a string may go without its quotes.
//
// The error is InvalidArgument, complete to print: the first kMostProblems
// problems by place. `config` is then unspecified.
absl::Status ReadText(ConfigText text, google::protobuf::Message* config,
                      ConfigOrigins* origins);

}  // namespace regard

#endif  // OPTIONS_READER_H_
