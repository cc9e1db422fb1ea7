// The state of a git working tree.
#ifndef FILES_GIT_TREE_H_
#define FILES_GIT_TREE_H_

#include <string>

namespace regard {

struct GitTree {
  std::string commit = {};  // empty if there is no tree or no git, or it fails
  bool changed = false;     // whether its files are not those of the commit
};

// Changes nothing in the tree at `path`.
GitTree ReadGitTree(const std::string& path);

}  // namespace regard

#endif  // FILES_GIT_TREE_H_
