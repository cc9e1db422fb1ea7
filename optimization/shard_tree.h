// The balanced binary tree in which the gradients of the shards of a batch are
// added. A node of the tree is a range of consecutive shards. The shape of the
// tree depends only on the number of shards.
#ifndef OPTIMIZATION_SHARD_TREE_H_
#define OPTIMIZATION_SHARD_TREE_H_

namespace regard {

// The indices [begin, end).
template <typename Index>
struct IndexRange {
  Index begin = 0;
  Index end = 0;

  Index size() const { return end - begin; }
};

// Returns the first shard of the right child of the node [begin, end), which
// must contain at least two shards.
inline int MiddleShard(int begin, int end) {
  return begin + (end - begin + 1) / 2;
}

// Returns the node with index `part` on the level of the tree that has `parts`
// nodes. `parts` must be a power of two and at most `num_shards`.
inline IndexRange<int> ShardsOf(int part, int parts, int num_shards) {
  IndexRange<int> node = {0, num_shards};
  for (int bit = parts / 2; bit > 0; bit /= 2) {
    const int middle = MiddleShard(node.begin, node.end);
    ((part & bit) != 0 ? node.begin : node.end) = middle;
  }
  return node;
}

}  // namespace regard

#endif  // OPTIMIZATION_SHARD_TREE_H_
