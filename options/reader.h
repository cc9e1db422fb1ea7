// Reads a config from text files and from `--set path=value` arguments. A file
// may extend another file with `base: "other.textproto"`.
//
// The config may be any proto2 message without maps and groups. A `base`
// requires a string field of this name in the outermost message. The field is
// empty in the result.
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

// A field that a text assigns.
struct AssignedField {
  std::string parent = {};  // path of the message around it, or ""
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::optional<int> index = {};  // element of a repeated field
  TextRange range = {};           // the name in the text

  // Whether the text assigns a whole repeated field.
  bool is_list() const { return field->is_repeated() && !index.has_value(); }
  // Whether the new value replaces the value of earlier texts. True for a list
  // and for a field with `replaces`.
  bool replaces() const;
  std::string Path() const;
};

// Stores which text set each field of a config.
class ConfigOrigins {
 public:
  // Adds a text, which overrides earlier texts. The last file must be the file
  // that the user named. `--set` arguments follow this file.
  void Add(ConfigTextWithOrigin text);

  // Records that the last text sets a field. Removes the origins of the other
  // members of its oneof. If the assignment replaces the old value, also
  // removes the origins of the old value.
  void RecordOrigin(const AssignedField& assignment);

  // Removes the origins of the field at `path` and of everything in it.
  void RemoveOrigins(const std::string& path);

  // Returns the origin of the field at `path`:
  // `configs/phrasebook.textproto:12` or `--set`. Returns nullopt if no text
  // sets the field. The field then has its default.
  std::optional<std::string> Find(absl::string_view path) const;

  // Returns the position that Diagnostic() shows: `configs/a.textproto:12:3` or
  // `--set`.
  std::string OriginWithColumn(absl::string_view path) const;

  const ConfigTextWithOrigin& main_text() const { return texts_[main_]; }

  // Files and `--set` arguments, in ascending order of precedence.
  absl::Span<const ConfigTextWithOrigin> texts() const { return texts_; }

  // Returns the lines to print for a problem of the field at `path`, or of the
  // part `within` of a string field. If no text sets the field, the lines show
  // the nearest message around the field, or the start of the file that the
  // user named. Requires at least one text.
  std::string Diagnostic(absl::string_view path, std::string message,
                         const TextRange& within = {}) const;

 private:
  struct Place {
    size_t text;  // index into texts_
    TextRange range;
  };

  Place NearestPlace(absl::string_view path) const;

  std::vector<ConfigTextWithOrigin> texts_;
  size_t main_ = 0;  // index of the file that the user named
  std::map<std::string, Place> places_;
};

// Returns OK if there are no problems. Otherwise returns InvalidArgument with a
// message to print, which shows up to kMaxProblems problems at their
// positions.
absl::Status LocateProblems(const ConfigProblems& problems,
                            const ConfigOrigins& origins);

// The maximum number of nested bases.
inline constexpr int kMaxBases = 16;

struct ConfigPathOrText {
  // The path as the user gave it (see ResolveUserPath). For an embedded text,
  // the name that messages show.
  std::string name;
  // The text, if it is embedded in the program. An embedded text cannot have a
  // base.
  std::optional<std::string> embedded;
};

// Reads `source` and its bases into `config`, then applies `overrides` in
// order. Returns the origin of each value. Each file is first checked
// separately, so setting a field twice in one file is an error. Then the file
// is merged into its base (see ReadText).
//
// If there are problems, returns InvalidArgument with a message to print. The
// message has all problems of the first file with problems. If no file has
// problems, the message has all problems of the overrides. If `source` cannot
// be read, IsMachineFailure() may be true for the error. After an error,
// `config` is unspecified.
absl::StatusOr<ConfigOrigins> ReadConfig(
    const ConfigPathOrText& source, absl::Span<const std::string> overrides,
    google::protobuf::Message* config);

// Returns the values of --set flags as texts.
std::vector<ConfigTextWithOrigin> OverrideTexts(
    absl::Span<const std::string> overrides);

// Like ReadConfig(), but each override has its own origin instead of `--set`.
absl::StatusOr<ConfigOrigins> ReadConfigWith(
    const ConfigPathOrText& source,
    absl::Span<const ConfigTextWithOrigin> overrides,
    google::protobuf::Message* config);

// Applies `overrides` to `config`, which was read with `origins`. Adds the
// overrides to `origins`. Returns the same errors as ReadConfig().
absl::Status ApplyOverrides(absl::Span<const ConfigTextWithOrigin> overrides,
                            google::protobuf::Message* config,
                            ConfigOrigins* origins);

// The maximum nesting depth of messages. Bounds the recursion of the reader.
inline constexpr int kDeepestNesting = 64;

// Whether the file belongs to a run folder: a resolved.textproto of a run, or a
// config.textproto next to such a file. Fields of the file may have their
// (former_name), because an earlier version may have written it.
bool IsRunConfig(const std::string& name);

// Adds `text` to `origins` and merges it into `config`. Scalars are replaced.
// Messages are merged field by field. Repeated fields and messages with the
// option `replaces` are replaced as a whole. A member of a oneof clears the
// other members. Records in `origins` which fields the text sets.
//
// An override sets one field. Missing messages on its path are created, but
// an element with an index must exist. If a list has at most one element, the
// index can be omitted, and a missing element is created:
//
//   model.layers[1].heads=8        layers={heads: 4}        sizes=[8, 16]
//   model.outside.[lab.my_score].width=8                    data.path=fra.txt
//
// The value has the syntax of a file, but a string does not need quotes.
//
// If there are problems, returns InvalidArgument with a message to print. The
// message has the first kMaxProblems problems in the order of the text.
// `config` is then unspecified.
absl::Status ReadText(ConfigTextWithOrigin text,
                      google::protobuf::Message* config,
                      ConfigOrigins* origins);

}  // namespace regard

#endif  // OPTIONS_READER_H_
