#include "experiments/run/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "experiments/run/run_folder.h"
#include "files/sha256.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::string ManifestText(
    int64_t step, const std::map<std::string, FileSizeAndDigest>& files) {
  std::vector<std::string> lines;
  for (const auto& [name, facts] : files) {
    lines.push_back(absl::StrCat("    \"", name,
                                 "\": {\"bytes\": ", facts.bytes,
                                 ", \"sha256\": \"", facts.sha256, "\"}"));
  }
  return absl::StrCat(
      "{\n  \"format\": \"regard.checkpoint\",\n  \"version\": 1,\n  "
      "\"step\": ",
      step, ",\n  \"files\": {\n", absl::StrJoin(lines, ",\n"), "\n  }\n}\n");
}

namespace {

constexpr char kPrefix[] = "step-";
// Part of the name of a directory that is incomplete or being removed.
constexpr char kTemporary[] = ".tmp-";
// Suffix of a checkpoint that is being replaced.
constexpr char kReplaced[] = ".old";
constexpr char kSnapshotPrefix[] = "snapshot-";
constexpr char kSnapshotSuffix[] = ".safetensors";

absl::StatusOr<FileSizeAndDigest> FactsOf(const std::string& path,
                                          FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const RandomAccessFile file,
                          RandomAccessFile::Open(path, files));
  REGARD_ASSIGN_OR_RETURN(std::string sha256, Sha256OfFile(file));
  return FileSizeAndDigest{.bytes = file.size(), .sha256 = std::move(sha256)};
}

// Returns the first line in which two texts differ, as "GOT, WANTED".
std::string Difference(absl::string_view got, absl::string_view wanted) {
  const std::vector<absl::string_view> got_lines = absl::StrSplit(got, '\n');
  const std::vector<absl::string_view> wanted_lines =
      absl::StrSplit(wanted, '\n');
  const auto line = std::mismatch(got_lines.begin(), got_lines.end(),
                                  wanted_lines.begin(), wanted_lines.end())
                        .first -
                    got_lines.begin();
  const auto quoted = [line](const std::vector<absl::string_view>& lines) {
    if (line >= std::ssize(lines)) return std::string("no text");
    absl::string_view text = absl::StripAsciiWhitespace(lines[line]);
    absl::ConsumeSuffix(&text, ",");
    return absl::CHexEscape(
        absl::StrReplaceAll(text.substr(0, 160), {{"\"", ""}}));
  };
  return absl::StrCat("line ", line + 1, " of ", kManifestFile, " has ",
                      quoted(got_lines), ", but the files have ",
                      quoted(wanted_lines));
}

std::string SnapshotName(int64_t step) {
  return absl::StrCat(kSnapshotPrefix, step, kSnapshotSuffix);
}

std::string SnapshotReference(int64_t step) {
  return absl::StrCat("../", SnapshotName(step));
}

// Removes a number without leading zeros from the start of `text` and returns
// it. Returns nullopt if `text` does not begin with such a number.
std::optional<int64_t> ConsumeStep(absl::string_view* text) {
  const absl::string_view digits = text->substr(
      0, std::find_if_not(text->begin(), text->end(), absl::ascii_isdigit) -
             text->begin());
  int64_t step = 0;
  // Rejects leading zeros: step 7 is written `step-7`, never `step-007`.
  if (!absl::SimpleAtoi(digits, &step) || absl::StrCat(step) != digits) {
    return std::nullopt;
  }
  text->remove_prefix(digits.size());
  return step;
}

std::set<int64_t> SnapshotsOf(absl::string_view manifest) {
  std::set<int64_t> steps;
  const std::string mark = absl::StrCat("\"../", kSnapshotPrefix);
  for (size_t at = manifest.find(mark); at != absl::string_view::npos;
       at = manifest.find(mark, at + 1)) {
    absl::string_view rest = manifest.substr(at + mark.size());
    if (const auto step = ConsumeStep(&rest); step.has_value()) {
      steps.insert(*step);
    }
  }
  return steps;
}

// Returns the checkpoint of `step` if it is complete and undamaged. Reads every
// byte. The error satisfies IsMachineFailure() if a file could not be read. Any
// other error means that the checkpoint is damaged.
absl::StatusOr<CheckpointInfo> ReadCheckpointFolder(const std::string& path,
                                                    int64_t step,
                                                    FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(
      const std::string manifest,
      ReadFile(JoinPath(path, kManifestFile), kMaxTextFileBytes, files));
  CheckpointInfo checkpoint = {.step = step, .path = path};
  std::map<std::string, FileSizeAndDigest> facts;
  for (const int64_t snapshot : SnapshotsOf(manifest)) {
    checkpoint.snapshots.push_back(snapshot);
    const std::string name = SnapshotReference(snapshot);
    REGARD_ASSIGN_OR_RETURN(facts[name], FactsOf(JoinPath(path, name), files));
  }
  std::vector<const char*> names = {kOptimizerFile, kStateFile, kWeightsFile};
  REGARD_ASSIGN_OR_RETURN(const PathKind best,
                          KindOfPath(JoinPath(path, kBestFile), files));
  checkpoint.has_best = best != PathKind::kNothing;
  if (checkpoint.has_best) names.push_back(kBestFile);
  for (const char* name : names) {
    REGARD_ASSIGN_OR_RETURN(facts[name], FactsOf(JoinPath(path, name), files));
  }
  const std::string expected = ManifestText(step, facts);
  if (manifest != expected) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", Difference(manifest, expected)));
  }
  return checkpoint;
}

// A file or directory whose name consists of a prefix, a step and a suffix.
struct Entry {
  int64_t step = 0;
  std::string path;
  std::string suffix;
};

// Returns the files or directories with the given prefix in the checkpoint
// directory, newest first. Entries of the same step are sorted by suffix.
// Unknown names are skipped.
absl::StatusOr<std::vector<Entry>> ListEntries(const std::string& run_folder,
                                               absl::string_view prefix,
                                               PathKind wanted,
                                               FileOperations& files) {
  std::vector<Entry> entries;
  REGARD_ASSIGN_OR_RETURN(const std::string folder,
                          CheckpointFolder(run_folder, files));
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(folder, files));
  if (kind != PathKind::kDirectory) return entries;
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder, files));
  for (const std::string& name : names) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, prefix)) continue;
    const std::optional<int64_t> step = ConsumeStep(&rest);
    if (!step.has_value()) continue;
    const std::string path = JoinPath(folder, name);
    REGARD_ASSIGN_OR_RETURN(const PathKind there, KindOfPath(path, files));
    if (there != wanted) continue;
    entries.push_back({*step, path, std::string(rest)});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.suffix < b.suffix;
  });
  return entries;
}

// Lists the checkpoint directories, whether complete or not.
absl::StatusOr<std::vector<Entry>> ListSteps(const std::string& run_folder,
                                             FileOperations& files) {
  return ListEntries(run_folder, kPrefix, PathKind::kDirectory, files);
}

bool IsTemporary(const Entry& entry) {
  return absl::StartsWith(entry.suffix, kTemporary);
}

using Sink = absl::FunctionRef<absl::Status(absl::string_view)>;
// A function that writes the content of a file to a sink, one part at a time.
using Write = absl::FunctionRef<absl::Status(Sink)>;

// Calls `write`, passes its bytes on to `sink`, and returns their number and
// digest.
absl::StatusOr<FileSizeAndDigest> WriteAndDescribe(Write write, Sink sink) {
  FileSizeAndDigest facts;
  Sha256 sha256;
  REGARD_RETURN_IF_ERROR(write([&](absl::string_view bytes) {
    facts.bytes += bytes.size();
    sha256.Update(bytes);
    return sink(bytes);
  }));
  facts.sha256 = sha256.HexDigest();
  return facts;
}

// Writes the snapshots that are not on disk yet. Returns the size and the
// digest of every snapshot, by its name in manifests.
absl::StatusOr<std::map<std::string, FileSizeAndDigest>> WriteSnapshots(
    const std::string& folder, const CheckpointContent& content,
    FileOperations& files) {
  std::map<std::string, FileSizeAndDigest> facts;
  for (const Snapshot& snapshot : content.snapshots) {
    const auto write = [&](Sink sink) {
      return WriteSafetensors(snapshot.weights, content.weights_metadata, sink);
    };
    FileSizeAndDigest& of_this = facts[SnapshotReference(snapshot.step)];
    REGARD_ASSIGN_OR_RETURN(of_this,
                            WriteAndDescribe(write, [](absl::string_view) {
                              return absl::OkStatus();
                            }));
    const std::string path = JoinPath(folder, SnapshotName(snapshot.step));
    const absl::StatusOr<FileSizeAndDigest> stored = FactsOf(path, files);
    if (stored.ok() && *stored == of_this) continue;
    REGARD_RETURN_IF_ERROR(WriteSafetensorsFile(
        path, snapshot.weights, content.weights_metadata, files));
  }
  return facts;
}

// Writes a complete checkpoint to a new directory and syncs it to disk. Writes
// the manifest last. `facts` are the sizes and digests of its snapshots.
absl::Status WriteFolder(const std::string& path,
                         const CheckpointContent& content,
                         std::map<std::string, FileSizeAndDigest> facts,
                         FileOperations& files) {
  REGARD_RETURN_IF_ERROR(RemoveTree(path, files));
  REGARD_RETURN_IF_ERROR(MakeDirectories(path, files));
  const auto add = [&](const char* name, Write write) -> absl::Status {
    REGARD_ASSIGN_OR_RETURN(FileWriter writer,
                            FileWriter::Create(JoinPath(path, name), files));
    REGARD_ASSIGN_OR_RETURN(
        facts[name], WriteAndDescribe(write, [&](absl::string_view bytes) {
          return writer.Append(bytes);
        }));
    return writer.Finish();
  };
  REGARD_RETURN_IF_ERROR(add(kWeightsFile, [&](Sink sink) {
    return WriteSafetensors(content.weights, content.weights_metadata, sink);
  }));
  if (!content.best.empty()) {
    REGARD_RETURN_IF_ERROR(add(kBestFile, [&](Sink sink) {
      return WriteSafetensors(content.best, content.weights_metadata, sink);
    }));
  }
  REGARD_RETURN_IF_ERROR(add(kOptimizerFile, [&](Sink sink) {
    return WriteSafetensors(content.optimizer, {}, sink);
  }));
  REGARD_RETURN_IF_ERROR(
      add(kStateFile, [&](Sink sink) { return sink(content.state); }));
  const std::string manifest = ManifestText(content.step, facts);
  REGARD_RETURN_IF_ERROR(
      add(kManifestFile, [&](Sink sink) { return sink(manifest); }));
  return SyncDirectory(path, files);
}

// Removes a checkpoint. Renames it first, so that no reader mistakes a partly
// removed directory for a checkpoint.
absl::Status RemoveCheckpoint(const std::string& path, FileOperations& files) {
  const std::string doomed = absl::StrCat(path, kTemporary, getpid());
  REGARD_RETURN_IF_ERROR(RemoveTree(doomed, files));
  REGARD_RETURN_IF_ERROR(RenameFile(path, doomed, files));
  return RemoveTree(doomed, files);
}

absl::Status PruneSnapshots(const std::string& run_folder,
                            FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> steps,
                          ListSteps(run_folder, files));
  std::set<int64_t> wanted;
  for (const Entry& entry : steps) {
    if (IsTemporary(entry)) continue;
    const absl::StatusOr<std::string> manifest =
        ReadFile(JoinPath(entry.path, kManifestFile), kMaxTextFileBytes, files);
    // The snapshots to which this checkpoint refers are unknown, so none may be
    // removed.
    if (IsMachineFailure(manifest.status())) return manifest.status();
    if (manifest.ok()) wanted.merge(SnapshotsOf(*manifest));
  }
  REGARD_ASSIGN_OR_RETURN(
      const std::vector<Entry> snapshots,
      ListEntries(run_folder, kSnapshotPrefix, PathKind::kFile, files));
  for (const Entry& entry : snapshots) {
    absl::string_view rest = entry.suffix;
    if (!absl::ConsumePrefix(&rest, kSnapshotSuffix)) continue;
    const bool unused = rest.empty() && wanted.count(entry.step) == 0;
    if (unused || absl::StartsWith(rest, kTemporary)) {
      REGARD_RETURN_IF_ERROR(RemoveTree(entry.path, files));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string CheckpointInfo::SnapshotPath(int64_t step) const {
  return JoinPath(path, SnapshotReference(step));
}

absl::Status SaveCheckpoint(const std::string& run_folder,
                            const CheckpointContent& content, int keep,
                            FileOperations& files) {
  REGARD_CHECK_GE(content.step, 0);
  REGARD_CHECK_GE(keep, 1);
  REGARD_ASSIGN_OR_RETURN(const std::string folder,
                          CheckpointFolder(run_folder, files));
  // Does not create the parent directories, because the user may have removed
  // the run.
  if (files.MakeDirectory(folder) == 0) {
    REGARD_RETURN_IF_ERROR(SyncDirectory(run_folder, files));
  } else if (errno != EEXIST) {
    return WriteError(folder, "create the directory", errno);
  }
  const std::string path =
      JoinPath(folder, absl::StrCat(kPrefix, content.step));
  const std::string replaced = absl::StrCat(path, kReplaced);
  const std::string temporary = absl::StrCat(path, kTemporary, getpid());
  const absl::Status written = [&]() -> absl::Status {
    REGARD_ASSIGN_OR_RETURN(auto facts, WriteSnapshots(folder, content, files));
    REGARD_RETURN_IF_ERROR(
        WriteFolder(temporary, content, std::move(facts), files));
    // Renames an existing checkpoint of this step before replacing it, so that
    // one of the two can be found at every moment.
    if (IsDirectory(path)) {
      REGARD_RETURN_IF_ERROR(RenameFile(path, replaced, files));
    }
    return RenameFile(temporary, path, files);
  }();
  if (!written.ok()) {
    // Returns the first error. The next start removes files that cannot be
    // removed now.
    CleanUpCheckpoints(run_folder, files).IgnoreError();
    return written;
  }
  REGARD_RETURN_IF_ERROR(SyncDirectory(folder, files));
  REGARD_RETURN_IF_ERROR(RemoveTree(replaced, files));
  return PruneCheckpoints(run_folder, content.step, keep, files);
}

absl::StatusOr<FoundCheckpoints> FindCheckpoints(const std::string& run_folder,
                                                 size_t most,
                                                 FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListSteps(run_folder, files));
  FoundCheckpoints found;
  for (const Entry& entry : entries) {
    if (found.checkpoints.size() == most) break;
    const bool replaced = !found.checkpoints.empty() &&
                          found.checkpoints.back().step == entry.step;
    if (replaced) continue;
    if (!entry.suffix.empty() && entry.suffix != kReplaced) continue;
    absl::StatusOr<CheckpointInfo> whole =
        ReadCheckpointFolder(entry.path, entry.step, files);
    if (IsMachineFailure(whole.status())) return whole.status();
    if (whole.ok()) {
      found.checkpoints.push_back(*std::move(whole));
    } else {
      found.notes.push_back(absl::StrCat(
          "checkpoint of step ", entry.step,
          " is damaged and was ignored: ", whole.status().message()));
    }
  }
  return found;
}

absl::Status PruneCheckpoints(const std::string& run_folder, int64_t newest,
                              int keep, FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListSteps(run_folder, files));
  int kept = 0;
  for (const Entry& entry : entries) {
    if (entry.step > newest || !entry.suffix.empty()) continue;
    if (++kept <= keep) continue;
    REGARD_RETURN_IF_ERROR(RemoveCheckpoint(entry.path, files));
  }
  return PruneSnapshots(run_folder, files);
}

absl::Status RemoveCheckpointsAfter(const std::string& run_folder, int64_t step,
                                    FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListSteps(run_folder, files));
  for (const Entry& entry : entries) {
    if (entry.step <= step) continue;
    REGARD_RETURN_IF_ERROR(RemoveCheckpoint(entry.path, files));
  }
  return PruneSnapshots(run_folder, files);
}

absl::Status CleanUpCheckpoints(const std::string& run_folder,
                                FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                          ListSteps(run_folder, files));
  for (const Entry& entry : entries) {
    if (IsTemporary(entry)) {
      REGARD_RETURN_IF_ERROR(RemoveTree(entry.path, files));
    } else if (entry.suffix == kReplaced) {
      const std::string name(absl::StripSuffix(entry.path, kReplaced));
      const absl::Status whole =
          ReadCheckpointFolder(name, entry.step, files).status();
      if (IsMachineFailure(whole)) return whole;
      if (whole.ok()) {
        REGARD_RETURN_IF_ERROR(RemoveTree(entry.path, files));
      } else {
        REGARD_RETURN_IF_ERROR(RemoveTree(name, files));
        REGARD_RETURN_IF_ERROR(RenameFile(entry.path, name, files));
      }
    }
  }
  return PruneSnapshots(run_folder, files);
}

}  // namespace regard
