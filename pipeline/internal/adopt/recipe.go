package adopt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// recipe is a recipe of vLLM, models/ORG/MODEL.yaml of vllm-project/recipes: a server for each variant.
var recipe = form{
	name: "vllm-recipe", title: "a vLLM recipe",
	matches: func(s *source) bool {
		return textOf(at(s.first(), "model", "model_id")) != "" && (at(s.first(), "variants") != nil || at(s.first(), "features") != nil)
	},
	read: (*Definition).recipe,
}

var recipeReasons = map[string]string{
	"features":           "write the arguments of those that you use into args",
	"hardware_overrides": "write the arguments of your hardware into args",
	"strategy_overrides": "write the parallel sizes of your machine into args",
	"guide":              "it is for people", "meta": "it is for people",
	"compatible_strategies": "write the parallel sizes of your machine into args",
}

func (d *Definition) recipe(s *source) error {
	root := fieldsOf(s.first(), "")
	model := fieldsOf(root.take("model"), "model.")
	id, image := textOf(model.take("model_id")), textOf(model.take("docker_image"))
	base, env := textsOf(model.take("base_args")), pairsOf(model.take("base_env"))
	variants, _ := root.take("variants").(hclfile.Map)
	if len(variants) == 0 {
		variants = hclfile.Map{{Name: "default", Value: hclfile.Map{}}}
	}
	for _, v := range variants {
		f := fieldsOf(v.Value, "")
		sv := &server{name: v.Name, image: image}
		own := cmp.Or(textOf(f.take("model_id")), id)
		words := slices.Concat([]string{"vllm", "serve", own}, base, textsOf(f.take("extra_args")))
		for _, e := range slices.Concat(env, pairsOf(f.take("extra_env"))) {
			d.environment(sv, e.name, e.value)
		}
		if err := d.read(sv, words); err != nil {
			return err
		}
		f.rest(map[string]string{"description": "it is for people"}, sv.leave)
		d.addServer(sv)
	}
	model.rest(map[string]string{"min_vllm_version": "name an image of that version or later"}, d.leave)
	d.overrides(root, "features", "args")
	d.overrides(root, "hardware_overrides", "extra_args")
	root.rest(recipeReasons, d.leave)
	return nil
}

// overrides lists the arguments that a recipe adds for a feature or for hardware, one line each.
func (d *Definition) overrides(root *fields, name, args string) {
	m, _ := root.take(name).(hclfile.Map)
	for _, p := range m {
		d.leave(name+"."+p.Name+": "+strings.Join(textsOf(at(p.Value, args)), " "), recipeReasons[name])
	}
}
