package model

import "slices"

// blockPool allocates KV blocks. A full block of known tokens retains its hash after it is freed
// and can be found again until it is reused: the prefix cache. Free blocks are in one queue, least
// recently freed first, as in vLLM's free_block_queue (v1/core/block_pool.py, vLLM 0.11).
type blockPool struct {
	caching bool
	blocks  []block
	// byHash maps the hash of a block's tokens and all tokens before them to the block.
	byHash map[uint64]int32
	// head and tail of the free queue, -1 when it is empty.
	head, tail int32
	free       int
}

type block struct {
	prev, next int32 // in the free queue
	refs       int32
	hash       uint64 // 0 means that the content is unknown
}

func newBlockPool(n int, caching bool) *blockPool {
	p := &blockPool{caching: caching, blocks: make([]block, n), head: -1, tail: -1}
	if caching {
		p.byHash = make(map[uint64]int32)
	}
	for i := range p.blocks {
		p.pushBack(int32(i))
	}
	return p
}

// usage returns the share of blocks that are in use; unused cached blocks count as free.
func (p *blockPool) usage() float64 {
	if len(p.blocks) == 0 {
		return 0
	}
	return 1 - float64(p.free)/float64(len(p.blocks))
}

// match returns the cached blocks of the longest known prefix of hashes, without a reference.
func (p *blockPool) match(hashes []uint64) []int32 {
	if !p.caching {
		return nil
	}
	var found []int32
	for _, h := range hashes {
		id, ok := p.byHash[h]
		if !ok {
			break
		}
		found = append(found, id)
	}
	return found
}

// idle returns the number of blocks of ids that are not in use: taking each costs a free block.
func (p *blockPool) idle(ids []int32) int {
	n := 0
	for _, id := range ids {
		if p.blocks[id].refs == 0 {
			n++
		}
	}
	return n
}

// share adds a reference to a cached block.
func (p *blockPool) share(id int32) {
	b := &p.blocks[id]
	if b.refs == 0 {
		p.unlink(id)
	}
	b.refs++
}

// take returns a fresh block; the caller must check that one is free.
func (p *blockPool) take() int32 {
	id := p.head
	p.unlink(id)
	b := &p.blocks[id]
	if b.hash != 0 {
		delete(p.byHash, b.hash)
		b.hash = 0
	}
	b.refs = 1
	return id
}

// publish adds a full block to the prefix cache by its hash.
func (p *blockPool) publish(id int32, hash uint64) {
	if !p.caching || hash == 0 || p.blocks[id].hash != 0 {
		return
	}
	if _, taken := p.byHash[hash]; taken {
		return // the same content was computed twice at once; the first copy stays
	}
	p.blocks[id].hash = hash
	p.byHash[hash] = id
}

// release frees blocks, the last one first, so that the ends of prompts are reused before their
// beginnings.
func (p *blockPool) release(ids []int32) {
	for _, id := range slices.Backward(ids) {
		b := &p.blocks[id]
		b.refs--
		if b.refs == 0 {
			p.pushBack(id)
		}
	}
}

// reset clears all cached content. Like vLLM's reset_prefix_cache, it returns false and has no
// effect while blocks are in use.
func (p *blockPool) reset() bool {
	if p.free != len(p.blocks) {
		return false
	}
	for i := range p.blocks {
		p.blocks[i].hash = 0
	}
	clear(p.byHash)
	return true
}

func (p *blockPool) pushBack(id int32) {
	b := &p.blocks[id]
	b.prev, b.next = p.tail, -1
	if p.tail >= 0 {
		p.blocks[p.tail].next = id
	} else {
		p.head = id
	}
	p.tail = id
	p.free++
}

func (p *blockPool) unlink(id int32) {
	b := &p.blocks[id]
	if b.prev >= 0 {
		p.blocks[b.prev].next = b.next
	} else {
		p.head = b.next
	}
	if b.next >= 0 {
		p.blocks[b.next].prev = b.prev
	} else {
		p.tail = b.prev
	}
	p.free--
}

// hashBlocks returns the chained hashes of the full blocks of ids: FNV-1a over the hash of the
// previous block and the block's tokens.
func hashBlocks(prev uint64, ids []int, blockSize int) []uint64 {
	hashes := make([]uint64, 0, len(ids)/blockSize)
	for len(ids) >= blockSize {
		prev = Hash(prev, ids[:blockSize])
		hashes = append(hashes, prev)
		ids = ids[blockSize:]
	}
	return hashes
}

func Hash(prev uint64, ids []int) uint64 {
	h := uint64(14695981039346656037)
	mix := func(v uint64) {
		left := 8
		for ; v > 0xff; left-- {
			h = (h ^ (v & 0xff)) * prime
			v >>= 8
		}
		h = (h ^ v) * primes[left] // the last byte and the zeros behind it at once
	}
	mix(prev)
	for _, id := range ids {
		mix(uint64(id))
	}
	return h | 1 // never 0, which means unknown
}

// prime is the factor of FNV, primes its powers: a byte of 0 only multiplies by prime.
const prime = 1099511628211

var primes = func() (powers [9]uint64) {
	powers[0] = 1
	for i := range 8 {
		powers[i+1] = powers[i] * prime
	}
	return powers
}()
