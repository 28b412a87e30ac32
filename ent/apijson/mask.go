package apijson

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

const problemMask = "must name fields of the request, separated by commas"

// mask reads update_mask: camelCase field names of the surrounding message, which are converted to
// proto names. Null leaves the mask to be filled from the names present.
func (d *decoder) mask(m protoreflect.Message, p *plan, f *field) error {
	switch d.peek() {
	case 'n':
		return d.literal("null")
	case '"':
	default:
		d.refuse(f.must)
		return d.skip()
	}
	text, problem, err := d.str()
	if err != nil {
		return err
	}
	if problem != "" {
		d.refuse(problem)
		return nil
	}
	mask := &fieldmaskpb.FieldMask{}
	if len(text) > 0 {
		for name := range strings.SplitSeq(string(text), ",") {
			i, known := p.byName[name]
			if !known || i == p.mask || p.fields[i].desc.Name() == pathField {
				d.refuse(problemMask)
				return nil
			}
			mask.Paths = append(mask.Paths, string(p.fields[i].desc.Name()))
		}
	}
	m.Set(f.desc, protoreflect.ValueOfMessage(mask.ProtoReflect()))
	return nil
}
