// A table as Markdown.
#ifndef EXPERIMENTS_ABLATION_MARKDOWN_TABLE_H_
#define EXPERIMENTS_ABLATION_MARKDOWN_TABLE_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// Ends with a newline. Cells are plain text; bars in them are escaped.
std::string MarkdownTable(const Table& table);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_MARKDOWN_TABLE_H_
