// Makes the values that TensorBoard can show: scalars, histograms, images, text
// and hyperparameters.
#ifndef FILES_TENSORBOARD_SUMMARY_H_
#define FILES_TENSORBOARD_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "files/tensorboard/event.pb.h"

namespace regard::tensorboard {

// `description` is Markdown, and may be empty.
Summary::Value ScalarValue(absl::string_view tag, float value,
                           absl::string_view description = "");

// Returns a histogram of the finite `values` with 30 equal buckets from their
// minimum to their maximum. Ignores NaN and infinities.
Summary::Value HistogramValue(absl::string_view tag,
                              absl::Span<const float> values);

// `rgb` is [height, width, 3], row-major. `description` is Markdown.
Summary::Value ImageValue(absl::string_view tag, absl::string_view description,
                          int height, int width, absl::Span<const uint8_t> rgb);

// Escapes text so that Markdown shows it unchanged on one line.
std::string EscapeMarkdown(absl::string_view text);

// TensorBoard renders `markdown`. Text of unknown origin must be escaped first.
Summary::Value TextValue(absl::string_view tag, absl::string_view markdown);

using HParamSetting = std::variant<double, bool, std::string>;

// The settings of the run, for TensorBoard's table of hyperparameters, which
// also shows scalars. The table averages the runs of one `group`: use the same
// group for the seeds of a config.
Summary::Value SessionStartValue(
    const std::map<std::string, HParamSetting>& settings,
    absl::string_view group, double start_seconds);

// Marks the run as finished. Without this value, the table shows it as running.
Summary::Value SessionEndValue(bool success, double end_seconds);

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_SUMMARY_H_
