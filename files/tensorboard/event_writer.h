// Writes the event file of a run for TensorBoard (docs/run_folder.md), framed
// as TFRecord. Only one writer may use a folder at a time: lock the run folder
// first.
#ifndef FILES_TENSORBOARD_EVENT_WRITER_H_
#define FILES_TENSORBOARD_EVENT_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "files/file.h"
#include "files/tensorboard/event.pb.h"

namespace regard::tensorboard {

// CRC-32C (Castagnoli, RFC 3720).
uint32_t Crc32c(absl::string_view bytes);

// CRC-32C as the format stores it: rotated by 15 bits, plus a constant.
uint32_t MaskedCrc32c(absl::string_view bytes);

// Returns the length (64 bits little-endian) and the payload, each followed by
// a masked checksum.
std::string FramedRecord(absl::string_view payload);

struct EventWriterOptions {
  // The directory of the event files of one run. Contains no other files.
  // Created if it does not exist.
  std::string folder = {};
  // Set if a run continues after a checkpoint of this step. Readers then ignore
  // later steps in earlier files.
  std::optional<int64_t> resumed_step = {};
  std::function<absl::Time()> clock = absl::Now;
};

// Writes events to one file. Move-only.
class EventWriter {
 public:
  // Creates a file whose name sorts after all files in the folder. Never
  // appends to an earlier file, because readers ignore everything after an
  // incomplete record.
  static absl::StatusOr<EventWriter> Create(const EventWriterOptions& options,
                                            FileOperations& files);

  // A moved-from writer has nothing to flush.
  EventWriter(EventWriter&&) noexcept = default;
  EventWriter& operator=(EventWriter&&) = delete;
  // Flushes, and ignores errors.
  ~EventWriter();

  // Adds one value to the buffer. After an error, all calls return that error,
  // because readers cannot read records after an incomplete record.
  absl::Status Add(int64_t step, Summary::Value value);

  // Makes the added values visible to readers.
  absl::Status Flush();

  // Flushes, writes the file to the disk, and closes it.
  absl::Status Close();

 private:
  EventWriter(FileWriter file, std::function<absl::Time()> clock);

  void AddEvent(Event event);

  std::unique_ptr<FileWriter> file_;  // null once closed or moved from
  std::function<absl::Time()> clock_;
  std::string pending_;
  std::set<std::string> described_tags_;
  absl::Status status_;
};

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_EVENT_WRITER_H_
