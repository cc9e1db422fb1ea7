#include "experiments/run/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "experiments/run/file.h"
#include "experiments/run/safetensors.h"
#include "experiments/run/sha256.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
std::string ManifestText(int64_t step,
                         const std::map<std::string, FileFacts>& files) {
  std::string text = absl::StrCat(
      "{\n  \"format\": \"regard.checkpoint\",\n  \"version\": 1,\n  "
      "\"step\": ",
      step, ",\n  \"files\": {");
  const char* separator = "\n";
  for (const auto& [name, facts] : files) {
    absl::StrAppend(&text, separator, "    \"", name,
                    "\": {\"bytes\": ", facts.bytes, ", \"sha256\": \"",
                    facts.sha256, "\"}");
    separator = ",\n";
  }
  absl::StrAppend(&text, "\n  }\n}\n");
  return text;
}

namespace {

constexpr char kFolder[] = "checkpoints";
constexpr char kPrefix[] = "step-";
// Follows the name of one that is not finished, or is being removed.
constexpr char kTemporary[] = ".tmp-";
// Follows the name of one while another takes its place.
constexpr char kReplaced[] = ".old";
constexpr int64_t kMaxStateBytes = int64_t{64} << 20;
constexpr int64_t kMaxManifestBytes = 4096;
constexpr int64_t kBlockBytes = int64_t{1} << 20;

absl::StatusOr<FileFacts> FactsOf(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  Sha256 sha256;
  std::string block;
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    block.resize(std::min(kBlockBytes, file.size() - offset));
    REGARD_RETURN_IF_ERROR(file.ReadAt(offset, absl::MakeSpan(block)));
    sha256.Update(block);
  }
  return FileFacts{.bytes = file.size(), .sha256 = sha256.HexDigest()};
}

// The first line in which two texts differ, as "GOT, WANTED".
std::string Difference(absl::string_view got, absl::string_view wanted) {
  const std::vector<absl::string_view> got_lines = absl::StrSplit(got, '\n');
  const std::vector<absl::string_view> wanted_lines =
      absl::StrSplit(wanted, '\n');
  size_t line = 0;
  while (line < got_lines.size() && line < wanted_lines.size() &&
         got_lines[line] == wanted_lines[line]) {
    ++line;
  }
  const auto quoted = [line](const std::vector<absl::string_view>& lines) {
    if (line >= lines.size()) return std::string("no more");
    absl::string_view text = absl::StripAsciiWhitespace(lines[line]);
    absl::ConsumeSuffix(&text, ",");
    return absl::CHexEscape(
        absl::StrReplaceAll(text.substr(0, 160), {{"\"", ""}}));
  };
  return absl::StrCat("line ", line + 1, " of ", kManifestFile, " says ",
                      quoted(got_lines), ", but the files say ",
                      quoted(wanted_lines));
}

// Whether the folder holds the whole checkpoint of `step`, unharmed; otherwise
// a DataLoss, or the error of a file that cannot be read. Reads every byte.
absl::Status VerifyCheckpointFolder(const std::string& path, int64_t step) {
  REGARD_ASSIGN_OR_RETURN(
      const std::string manifest,
      ReadFile(JoinPath(path, kManifestFile), kMaxManifestBytes));
  std::map<std::string, FileFacts> files;
  std::vector<const char*> names = {kOptimizerFile, kStateFile, kWeightsFile};
  if (PathExists(JoinPath(path, kBestFile))) names.push_back(kBestFile);
  for (const char* name : names) {
    REGARD_ASSIGN_OR_RETURN(files[name], FactsOf(JoinPath(path, name)));
  }
  const std::string expected = ManifestText(step, files);
  if (manifest != expected) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", Difference(manifest, expected)));
  }
  return absl::OkStatus();
}

// An entry of the checkpoints folder that bears a step's name.
struct Entry {
  int64_t step = 0;
  std::string path;
  std::string suffix;
};

// The entries, newest first, and of one step the replaced one last. Names that
// are not ours are left out.
absl::StatusOr<std::vector<Entry>> ListEntries(const std::string& folder) {
  std::vector<Entry> entries;
  if (!IsDirectory(folder)) return entries;
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  for (const std::string& name : names) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, kPrefix)) continue;
    const absl::string_view digits = rest.substr(
        0, std::find_if_not(rest.begin(), rest.end(), absl::ascii_isdigit) -
               rest.begin());
    Entry entry;
    if (!absl::SimpleAtoi(digits, &entry.step)) continue;
    // Step 7 is never `step-007`.
    if (absl::StrCat(entry.step) != digits) continue;
    entry.path = JoinPath(folder, name);
    entry.suffix = std::string(rest.substr(digits.size()));
    if (IsDirectory(entry.path)) entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.suffix < b.suffix;
  });
  return entries;
}

bool IsTemporary(const Entry& entry) {
  return entry.suffix.rfind(kTemporary, 0) == 0;
}

// Writes `path` by the pieces that `write` hands to its sink.
template <typename Write>
absl::StatusOr<FileFacts> WriteCounted(const std::string& path,
                                       FileOperations& files, Write write) {
  REGARD_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path, files));
  FileFacts facts;
  Sha256 sha256;
  REGARD_RETURN_IF_ERROR(write([&](absl::string_view bytes) {
    facts.bytes += bytes.size();
    sha256.Update(bytes);
    return writer.Append(bytes);
  }));
  REGARD_RETURN_IF_ERROR(writer.Finish());
  facts.sha256 = sha256.HexDigest();
  return facts;
}

// Fills a new folder with a whole checkpoint, the manifest last, and puts it on
// the disk.
absl::Status WriteFolder(const std::string& path,
                         const CheckpointContent& content,
                         FileOperations& files) {
  REGARD_RETURN_IF_ERROR(RemoveTree(path, files));
  REGARD_RETURN_IF_ERROR(MakeDirectories(path, files));
  std::map<std::string, FileFacts> facts;
  REGARD_ASSIGN_OR_RETURN(
      facts[kWeightsFile],
      WriteCounted(JoinPath(path, kWeightsFile), files, [&](auto sink) {
        return WriteSafetensors(content.weights, content.weights_metadata,
                                sink);
      }));
  if (!content.best.empty()) {
    REGARD_ASSIGN_OR_RETURN(
        facts[kBestFile],
        WriteCounted(JoinPath(path, kBestFile), files, [&](auto sink) {
          return WriteSafetensors(content.best, content.weights_metadata, sink);
        }));
  }
  REGARD_ASSIGN_OR_RETURN(
      facts[kOptimizerFile],
      WriteCounted(JoinPath(path, kOptimizerFile), files, [&](auto sink) {
        return WriteSafetensors(content.optimizer, {}, sink);
      }));
  REGARD_ASSIGN_OR_RETURN(
      facts[kStateFile],
      WriteCounted(JoinPath(path, kStateFile), files,
                   [&](auto sink) { return sink(content.state); }));
  REGARD_RETURN_IF_ERROR(
      WriteCounted(JoinPath(path, kManifestFile), files, [&](auto sink) {
        return sink(ManifestText(content.step, facts));
      }).status());
  return SyncDirectory(path, files);
}

// Removes a checkpoint so that a half removed one is never taken for one.
absl::Status RemoveCheckpoint(const std::string& path, FileOperations& files) {
  const std::string doomed = absl::StrCat(path, kTemporary, getpid());
  REGARD_RETURN_IF_ERROR(RemoveTree(doomed, files));
  REGARD_RETURN_IF_ERROR(RenameFile(path, doomed, files));
  return RemoveTree(doomed, files);
}

absl::Status Prune(const std::string& folder, int64_t newest, int keep,
                   FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListEntries(folder));
  int kept = 0;
  for (const Entry& entry : entries) {
    if (entry.step > newest || !entry.suffix.empty()) continue;
    if (++kept <= keep) continue;
    REGARD_RETURN_IF_ERROR(RemoveCheckpoint(entry.path, files));
  }
  return absl::OkStatus();
}

// Gives the finished folder its name. One that has the name already steps
// aside first, so that at every moment one of the two can be found.
absl::Status Commit(const std::string& finished, const std::string& path,
                    const std::string& replaced, FileOperations& files) {
  if (IsDirectory(path)) {
    REGARD_RETURN_IF_ERROR(RenameFile(path, replaced, files));
  }
  return RenameFile(finished, path, files);
}

}  // namespace

std::string Checkpoint::WeightsPath() const {
  return JoinPath(path, kWeightsFile);
}

std::string Checkpoint::ChosenWeightsPath() const {
  return has_best ? JoinPath(path, kBestFile) : WeightsPath();
}

std::string Checkpoint::OptimizerPath() const {
  return JoinPath(path, kOptimizerFile);
}

absl::StatusOr<Checkpoint> SaveCheckpoint(const std::string& run_folder,
                                          const CheckpointContent& content,
                                          int keep, FileOperations& files) {
  REGARD_CHECK_GE(content.step, 0);
  REGARD_CHECK_GE(keep, 1);
  const std::string folder = JoinPath(run_folder, kFolder);
  if (!IsDirectory(folder)) {
    REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
    REGARD_RETURN_IF_ERROR(SyncDirectory(run_folder, files));
  }
  const Checkpoint saved = {
      .step = content.step,
      .path = JoinPath(folder, absl::StrCat(kPrefix, content.step)),
      .has_best = !content.best.empty()};
  const std::string replaced = absl::StrCat(saved.path, kReplaced);
  const std::string temporary = absl::StrCat(saved.path, kTemporary, getpid());
  absl::Status written = WriteFolder(temporary, content, files);
  if (written.ok()) written = Commit(temporary, saved.path, replaced, files);
  if (!written.ok()) {
    // The first error is the one to tell; what cannot be cleared away now is
    // at the next start.
    RemoveTree(temporary, files).IgnoreError();
    CleanUpCheckpoints(run_folder, files).IgnoreError();
    return written;
  }
  REGARD_RETURN_IF_ERROR(SyncDirectory(folder, files));
  REGARD_RETURN_IF_ERROR(RemoveTree(replaced, files));
  REGARD_RETURN_IF_ERROR(Prune(folder, content.step, keep, files));
  return saved;
}

absl::StatusOr<LatestCheckpoint> FindLatestCheckpoint(
    const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListEntries(JoinPath(run_folder, kFolder)));
  LatestCheckpoint latest;
  for (const Entry& entry : entries) {
    if (!entry.suffix.empty() && entry.suffix != kReplaced) continue;
    const absl::Status whole = VerifyCheckpointFolder(entry.path, entry.step);
    if (whole.ok()) {
      latest.checkpoint =
          Checkpoint{.step = entry.step,
                     .path = entry.path,
                     .has_best = PathExists(JoinPath(entry.path, kBestFile))};
      return latest;
    }
    latest.notes.push_back(
        absl::StrCat("checkpoint of step ", entry.step,
                     " is damaged and passed over: ", whole.message()));
  }
  return latest;
}

absl::StatusOr<std::string> ReadCheckpointState(const Checkpoint& checkpoint) {
  return ReadFile(JoinPath(checkpoint.path, kStateFile), kMaxStateBytes);
}

absl::Status CleanUpCheckpoints(const std::string& run_folder,
                                FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListEntries(JoinPath(run_folder, kFolder)));
  for (const Entry& entry : entries) {
    if (IsTemporary(entry)) {
      REGARD_RETURN_IF_ERROR(RemoveTree(entry.path, files));
    } else if (entry.suffix == kReplaced) {
      const std::string name(absl::StripSuffix(entry.path, kReplaced));
      if (VerifyCheckpointFolder(name, entry.step).ok()) {
        REGARD_RETURN_IF_ERROR(RemoveTree(entry.path, files));
      } else {
        REGARD_RETURN_IF_ERROR(RemoveTree(name, files));
        REGARD_RETURN_IF_ERROR(RenameFile(entry.path, name, files));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace regard
